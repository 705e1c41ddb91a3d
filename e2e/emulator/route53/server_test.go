// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package route53

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func alias(action, kind, target, zone string) string {
	return "<Change><Action>" + action + "</Action><ResourceRecordSet><Name>App.example.com</Name><Type>" + kind + "</Type><AliasTarget><DNSName>" +
		target + "</DNSName><EvaluateTargetHealth>true</EvaluateTargetHealth><HostedZoneId>" + zone + "</HostedZoneId></AliasTarget>" +
		"</ResourceRecordSet></Change>"
}

func text(action, name, value string) string {
	return "<Change><Action>" + action + "</Action><ResourceRecordSet><Name>" + name + "</Name><Type>TXT</Type><TTL>300</TTL><ResourceRecords>" +
		"<ResourceRecord><Value>" + value + "</Value></ResourceRecord></ResourceRecords></ResourceRecordSet></Change>"
}

// ask sends a request, and returns the body of the answer.
func ask(t *testing.T, server *httptest.Server, method, path, body string) (status int, answer string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, server.URL+version+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	response, err := server.Client().Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	read, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(read)
}

func TestBatchesAreAppliedAsAWhole(t *testing.T) {
	const balancer = "edge-1.eu-west-1.elb.amazonaws.com"
	s := New(func(name string) (string, bool) { return "ZELB", name == balancer })
	server := httptest.NewServer(s)
	defer server.Close()
	id := s.CreateZone("Example.com.", true)
	for _, step := range []struct{ batch, refusal string }{
		{batch: alias("CREATE", "A", "Edge-1.eu-west-1.elb.amazonaws.com.", "ZELB") + text("CREATE", "a-app.example.com", `"owner"`)},
		{batch: alias("CREATE", "AAAA", balancer, "ZELB") + alias("CREATE", "A", balancer, "ZELB"), refusal: "already exists"},
		{batch: alias("UPSERT", "A", "gone.eu-west-1.elb.amazonaws.com", "ZELB"), refusal: "target was not found"},
		{batch: alias("UPSERT", "A", balancer, "ZOTHER"), refusal: "within the target zone"},
		{batch: text("UPSERT", "app.example.org", `"owner"`), refusal: "not permitted in zone"},
		{batch: text("DELETE", "a-app.example.com", `"other"`), refusal: "do not match"},
		{batch: text("DELETE", "b-app.example.com", `"owner"`), refusal: "was not found"},
		{batch: text("DELETE", "a-app.example.com", `"owner"`) + text("CREATE", "a-app.example.com", `"new"`)},
	} {
		before := len(s.Changes(id, 0))
		body := "<ChangeResourceRecordSetsRequest><ChangeBatch><Changes>" + step.batch + "</Changes></ChangeBatch></ChangeResourceRecordSetsRequest>"
		status, answer := ask(t, server, http.MethodPost, "/hostedzone/"+id+"/rrset", body)
		if refused := status != http.StatusOK; refused != (step.refusal != "") || !strings.Contains(answer, step.refusal) {
			t.Errorf("%s\nis answered with %d %s, want %q", step.batch, status, answer, step.refusal)
		}
		if changed := len(s.Changes(id, before)) > 0; changed != (step.refusal == "") {
			t.Errorf("%s\nchanges the zone: %t", step.batch, changed)
		}
	}
	if len(s.Refusals()) != 6 {
		t.Errorf("refusals %q, want 6", s.Refusals())
	}
	record, ok := s.Record(id, "app.example.com.", "A")
	if !ok || record.Alias.DNSName != balancer {
		t.Errorf("there is %+v, want an alias of %s", record, balancer)
	}
	_, answer := ask(t, server, http.MethodGet, "/hostedzone/"+id+"/rrset", "")
	for _, want := range []string{
		"<Name>a-app.example.com.</Name><Type>TXT</Type><TTL>300</TTL><ResourceRecords><ResourceRecord><Value>&#34;new&#34;</Value>",
		"<Name>app.example.com.</Name><Type>A</Type><AliasTarget><HostedZoneId>ZELB</HostedZoneId><DNSName>" + balancer + ".</DNSName>",
	} {
		if !strings.Contains(answer, want) {
			t.Errorf("the listing lacks %s:\n%s", want, answer)
		}
	}
	if s.Listings(id) != 1 {
		t.Errorf("%d listings, want 1", s.Listings(id))
	}
}

func TestZonesAreListed(t *testing.T) {
	s := New(nil)
	server := httptest.NewServer(s)
	defer server.Close()
	s.CreateZone("example.com", false)
	s.CreateZone("example.com", true)
	_, answer := ask(t, server, http.MethodGet, "/hostedzone", "")
	for _, want := range []string{
		"<Id>/hostedzone/Z0000000000001</Id><Name>example.com.</Name>", "<PrivateZone>false</PrivateZone>", "<PrivateZone>true</PrivateZone>",
	} {
		if !strings.Contains(answer, want) {
			t.Errorf("the listing lacks %s:\n%s", want, answer)
		}
	}
	if status, answer := ask(t, server, http.MethodGet, "/hostedzone/Z1/rrset", ""); status != http.StatusBadRequest ||
		!strings.Contains(answer, "<Code>NoSuchHostedZone</Code>") {
		t.Errorf("a zone that is not there is answered with %d %s", status, answer)
	}
}
