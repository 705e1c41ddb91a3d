// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package route53

import (
	"encoding/xml"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

// Targets tells the hosted zone of a DNS name that an alias may lead to; false for a name that is not there.
type Targets func(dnsName string) (hostedZoneID string, ok bool)

// Server is Route 53's endpoint. It is safe for concurrent use.
type Server struct {
	targets Targets
	mux     http.ServeMux

	mu       sync.Mutex
	zones    []*zone
	refusals []string
}

const (
	version   = "/2013-04-01"
	namespace = "https://route53.amazonaws.com/doc/2013-04-01/"
	idPrefix  = "/hostedzone/"
)

// New returns a Route 53 without zones.
func New(targets Targets) *Server {
	s := &Server{targets: targets}
	s.mux.HandleFunc("GET "+version+"/hostedzone", s.listZones)
	s.mux.HandleFunc("GET "+version+"/hostedzone/{id}/rrset", s.inZone(s.listRecords))
	s.mux.HandleFunc("POST "+version+"/hostedzone/{id}/rrset", s.inZone(s.changeRecords))
	return s
}

// ServeHTTP answers a call.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.mux.ServeHTTP(w, r) }

// CreateZone makes a hosted zone, which may have the name of another one, and returns its ID.
func (s *Server) CreateZone(name string, private bool) (id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	id = fmt.Sprintf("Z%013d", len(s.zones)+1)
	s.zones = append(s.zones, &zone{id: id, name: canonical(name), private: private, records: map[key]Record{}})
	return id
}

// Record returns the record set of a name and type in a zone.
func (s *Server) Record(zoneID, name, kind string) (Record, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	record, ok := s.zone(zoneID).records[key{canonical(name), kind}]
	return record, ok
}

// Resolve returns the record set of a name and type that clients on the internet find: that of the nearest public zone.
func (s *Server) Resolve(name, kind string) (record Record, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	name = canonical(name)
	nearest := &zone{}
	for _, z := range s.zones {
		if !z.private && z.holds(name) && len(z.name) > len(nearest.name) {
			nearest = z
		}
	}
	record, ok = nearest.records[key{name, kind}]
	return record, ok
}

// Records are all record sets of a zone, by name and type.
func (s *Server) Records(zoneID string) []Record {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.zone(zoneID).sorted()
}

// Changes are those that were made in a zone, from position since on.
func (s *Server) Changes(zoneID string, since int) []Change {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.zone(zoneID).changes[since:])
}

// Listings is how often the records of a zone were listed.
func (s *Server) Listings(zoneID string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.zone(zoneID).listings
}

// Refusals say why batches of changes were refused.
func (s *Server) Refusals() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.refusals)
}

// zone is one without records when there is none of that ID.
func (s *Server) zone(id string) *zone {
	if i := slices.IndexFunc(s.zones, func(z *zone) bool { return z.id == id }); i >= 0 {
		return s.zones[i]
	}
	return &zone{}
}

type hostedZone struct {
	ID              string `xml:"Id"`
	Name            string
	CallerReference string
	PrivateZone     bool `xml:"Config>PrivateZone"`
}

func (s *Server) listZones(w http.ResponseWriter, _ *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := struct {
		XMLName     xml.Name     `xml:"ListHostedZonesResponse"`
		Namespace   string       `xml:"xmlns,attr"`
		Zones       []hostedZone `xml:"HostedZones>HostedZone"`
		IsTruncated bool
		MaxItems    int
	}{Namespace: namespace, MaxItems: 100}
	for _, z := range s.zones {
		out.Zones = append(out.Zones, hostedZone{ID: idPrefix + z.id, Name: z.name + ".", CallerReference: z.id, PrivateZone: z.private})
	}
	write(w, http.StatusOK, out)
}

// inZone calls the handler with the zone of the path, under the lock.
func (s *Server) inZone(handle func(http.ResponseWriter, *http.Request, *zone)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		defer s.mu.Unlock()
		z := s.zone(r.PathValue("id"))
		if z.id == "" {
			refuse(w, "NoSuchHostedZone", "No hosted zone found with ID: "+r.PathValue("id"))
			return
		}
		handle(w, r, z)
	}
}

func (s *Server) listRecords(w http.ResponseWriter, _ *http.Request, z *zone) {
	z.listings++
	out := struct {
		XMLName     xml.Name `xml:"ListResourceRecordSetsResponse"`
		Namespace   string   `xml:"xmlns,attr"`
		Records     []Record `xml:"ResourceRecordSets>ResourceRecordSet"`
		IsTruncated bool
		MaxItems    int
	}{Namespace: namespace, MaxItems: 300}
	for _, r := range z.sorted() {
		r.Name += "."
		if r.Alias != nil {
			alias := *r.Alias
			alias.DNSName += "."
			r.Alias = &alias
		}
		out.Records = append(out.Records, r)
	}
	write(w, http.StatusOK, out)
}

func (s *Server) changeRecords(w http.ResponseWriter, r *http.Request, z *zone) {
	var in struct {
		Changes []Change `xml:"ChangeBatch>Changes>Change"`
	}
	if err := xml.NewDecoder(r.Body).Decode(&in); err != nil {
		refuse(w, "InvalidInput", err.Error())
		return
	}
	now := time.Now()
	if faults := z.apply(in.Changes, s.targets, now); len(faults) > 0 {
		s.refusals = append(s.refusals, strings.Join(faults, ", "))
		write(w, http.StatusBadRequest, struct {
			XMLName   xml.Name `xml:"InvalidChangeBatch"`
			Namespace string   `xml:"xmlns,attr"`
			Messages  []string `xml:"Messages>Message"`
			RequestID string   `xml:"RequestId"`
		}{Namespace: namespace, Messages: faults, RequestID: "emulated"})
		return
	}
	write(w, http.StatusOK, struct {
		XMLName     xml.Name `xml:"ChangeResourceRecordSetsResponse"`
		Namespace   string   `xml:"xmlns,attr"`
		ID          string   `xml:"ChangeInfo>Id"`
		Status      string   `xml:"ChangeInfo>Status"`
		SubmittedAt string   `xml:"ChangeInfo>SubmittedAt"`
	}{Namespace: namespace, ID: fmt.Sprintf("/change/C%d", len(z.changes)), Status: "INSYNC", SubmittedAt: now.UTC().Format(time.RFC3339)})
}

func refuse(w http.ResponseWriter, code, message string) {
	write(w, http.StatusBadRequest, struct {
		XMLName   xml.Name `xml:"ErrorResponse"`
		Namespace string   `xml:"xmlns,attr"`
		Code      string   `xml:"Error>Code"`
		Message   string   `xml:"Error>Message"`
	}{Namespace: namespace, Code: code, Message: message})
}

func write(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "text/xml")
	w.WriteHeader(status)
	_ = xml.NewEncoder(w).Encode(body) // fails only when the client has gone
}
