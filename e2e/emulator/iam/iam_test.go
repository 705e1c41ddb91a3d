// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package iam

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func parse(t *testing.T, statements ...string) Policy {
	t.Helper()
	p, err := Parse([]byte(`{"Version": "2012-10-17", "Statement": [` + strings.Join(statements, ",") + `]}`))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

const (
	group = "arn:aws:ec2:eu-west-1:123456789012:security-group/sg-1"
	allow = `{"Sid": "Read", "Effect": "Allow", "Action": "ec2:Describe*", "Resource": "*"}`
	write = `{"Effect": "Allow", "Action": ["ec2:CreateTags", "ec2:AuthorizeSecurityGroupIngress"], "Resource": ["arn:aws:ec2:*:*:security-group/*"]}`
	deny  = `{"Effect": "Deny", "Action": "ec2:*", "Resource": "*", "Condition": {"StringEquals": {"aws:ResourceTag/frozen": ["yes", "true"]}}}`
	owned = `{"Sid": "Own", "Effect": "Allow", "Action": "*", "Resource": "*", "Condition": {
		"Null": {"aws:RequestTag/elbv2.k8s.aws/cluster": "true", "aws:ResourceTag/elbv2.k8s.aws/cluster": "false"},
		"StringLike": {"ec2:CreateAction": "Create?ecurity*"}
	}}`
)

func TestEvaluate(t *testing.T) {
	tag := "aws:ResourceTag/"
	cases := map[string]struct {
		statements []string
		call       Call
		want       Decision
	}{
		"an action by wildcard":             {[]string{allow}, Call{"ec2:DescribeInstances", "*", nil}, Decision{true, false, Grant{"Read", "ec2:Describe*"}}},
		"an action in other case":           {[]string{allow}, Call{"EC2:describeInstances", "*", nil}, Decision{true, false, Grant{"Read", "ec2:Describe*"}}},
		"an action of another service":      {[]string{allow}, Call{"elasticloadbalancing:DescribeTags", "*", nil}, Decision{}},
		"an action that only begins so":     {[]string{write}, Call{"ec2:CreateTagsX", group, nil}, Decision{}},
		"an action that only ends so":       {[]string{allow}, Call{"xec2:DescribeTags", "*", nil}, Decision{}},
		"a resource by wildcard":            {[]string{allow, write}, Call{"ec2:AuthorizeSecurityGroupIngress", group, nil}, Decision{true, false, Grant{"#2", "ec2:AuthorizeSecurityGroupIngress"}}},
		"a resource of another kind":        {[]string{write}, Call{"ec2:CreateTags", strings.Replace(group, "security-group", "instance", 1), nil}, Decision{}},
		"a resource in other case":          {[]string{write}, Call{"ec2:CreateTags", strings.ToUpper(group), nil}, Decision{}},
		"no resource where one is asked":    {[]string{write}, Call{"ec2:CreateTags", "*", nil}, Decision{}},
		"denied by a condition":             {[]string{allow, deny}, Call{"ec2:DescribeTags", "*", map[string]string{tag + "frozen": "yes"}}, Decision{Denied: true}},
		"denied by its second value":        {[]string{deny, allow}, Call{"ec2:DescribeTags", "*", map[string]string{tag + "frozen": "true"}}, Decision{Denied: true}},
		"not denied by another value":       {[]string{deny, allow}, Call{"ec2:DescribeTags", "*", map[string]string{tag + "frozen": "no"}}, Decision{true, false, Grant{"Read", "ec2:Describe*"}}},
		"not denied without the tag":        {[]string{deny, allow}, Call{"ec2:DescribeTags", "*", nil}, Decision{true, false, Grant{"Read", "ec2:Describe*"}}},
		"not denied by a tag in other case": {[]string{deny, allow}, Call{"ec2:DescribeTags", "*", map[string]string{tag + "Frozen": "yes"}}, Decision{true, false, Grant{"Read", "ec2:Describe*"}}},
		"all conditions hold": {
			[]string{owned}, Call{"ec2:CreateTags", group, map[string]string{"AWS:resourcetag/elbv2.k8s.aws/cluster": "", "ec2:CreateAction": "CreateSecurityGroup"}},
			Decision{true, false, Grant{"Own", "*"}},
		},
		"one condition does not: a tag that must be there": {
			[]string{owned}, Call{"ec2:CreateTags", group, map[string]string{"ec2:CreateAction": "CreateSecurityGroup"}}, Decision{},
		},
		"one condition does not: a tag that must not be there": {
			[]string{owned}, Call{"ec2:CreateTags", group, map[string]string{
				tag + "elbv2.k8s.aws/cluster": "", "aws:RequestTag/elbv2.k8s.aws/cluster": "a", "ec2:CreateAction": "CreateSecurityGroup",
			}}, Decision{},
		},
		"one condition does not: a pattern": {
			[]string{owned}, Call{"ec2:CreateTags", group, map[string]string{tag + "elbv2.k8s.aws/cluster": "", "ec2:CreateAction": "CreateVolume"}}, Decision{},
		},
		"a pattern for any text without the key": {
			[]string{strings.Replace(owned, "Create?ecurity*", "*", 1)}, Call{"ec2:CreateTags", group, map[string]string{tag + "elbv2.k8s.aws/cluster": ""}}, Decision{},
		},
		"two statements that allow": {
			[]string{allow, strings.Replace(allow, "Read", "Again", 1)}, Call{"ec2:DescribeTags", "*", nil}, Decision{true, false, Grant{"Read", "ec2:Describe*"}},
		},
		"one condition does not: a pattern without the key": {
			[]string{owned}, Call{"ec2:CreateTags", group, map[string]string{tag + "elbv2.k8s.aws/cluster": ""}}, Decision{},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := Evaluate([]Policy{parse(t, tc.statements...)}, tc.call); got != tc.want {
				t.Errorf("decision is %+v, want %+v", got, tc.want)
			}
		})
	}
}

func TestEvaluateSeveralPolicies(t *testing.T) {
	call := Call{"ec2:DescribeTags", "*", map[string]string{"aws:ResourceTag/frozen": "yes"}}
	if got := Evaluate([]Policy{parse(t, write), parse(t, allow)}, call); !got.Allowed {
		t.Error("the second policy does not count")
	}
	if got := Evaluate([]Policy{parse(t, allow), parse(t, deny)}, call); !got.Denied {
		t.Error("the second policy does not deny")
	}
	if got := Evaluate(nil, call); got != (Decision{}) {
		t.Errorf("without policies the decision is %+v", got)
	}
}

func TestGrants(t *testing.T) {
	want := []Grant{{"Read", "ec2:Describe*"}, {"#2", "ec2:CreateTags"}, {"#2", "ec2:AuthorizeSecurityGroupIngress"}}
	if diff := cmp.Diff(want, parse(t, allow, write, deny).Grants()); diff != "" {
		t.Errorf("grants (-want +got):\n%s", diff)
	}
}

func TestParseRefuses(t *testing.T) {
	statement := func(fields string) string {
		return `{"Version": "2012-10-17", "Statement": {"Effect": "Allow", ` + fields + `}}`
	}
	const rest = `"Action": "ec2:*", "Resource": "*", `
	cases := map[string]struct{ text, want string }{
		"no JSON":              {"policy", "invalid character"},
		"text after the end":   {`{} {}`, "after the end"},
		"no version":           {`{"Statement": []}`, `version is ""`},
		"an old version":       {`{"Version": "2008-10-17", "Statement": []}`, "2008-10-17"},
		"no statement":         {`{"Version": "2012-10-17"}`, "no statement"},
		"an unknown field":     {statement(rest + `"Principal": "*"`), "Principal"},
		"NotAction":            {statement(`"NotAction": "ec2:*", "Resource": "*"`), "NotAction"},
		"no action":            {statement(`"Resource": "*"`), "no Action"},
		"an empty action":      {statement(`"Action": [], "Resource": "*"`), "no Action"},
		"half an action":       {statement(`"Action": "DescribeTags", "Resource": "*"`), "DescribeTags"},
		"no resource":          {statement(`"Action": "ec2:*"`), "no Resource"},
		"a resource, no ARN":   {statement(`"Action": "ec2:*", "Resource": "sg-1"`), "sg-1"},
		"a variable":           {statement(`"Action": "ec2:*", "Resource": "arn:aws:ec2:*:*:x/${aws:username}"`), "variables"},
		"an unknown operator":  {statement(rest + `"Condition": {"Bool": {"aws:SecureTransport": "true"}}`), "condition Bool of aws:SecureTransport"},
		"Null with other text": {statement(rest + `"Condition": {"Null": {"a:b": "yes"}}`), "want true or false"},
		"Null with two values": {statement(rest + `"Condition": {"Null": {"a:b": ["true", "false"]}}`), "want true or false"},
		"no value":             {statement(rest + `"Condition": {"StringLike": {"a:b": []}}`), "no value"},
		"a variable as value":  {statement(rest + `"Condition": {"StringLike": {"a:b": "${a}"}}`), "variables"},
		"a Sid with a space":   {statement(rest + `"Sid": "a b"`), "Sid"},
		"another effect":       {`{"Version": "2012-10-17", "Statement": {"Effect": "allow", "Action": "*", "Resource": "*"}}`, `effect is "allow"`},
		"two of one Sid":       {`{"Version": "2012-10-17", "Statement": [` + allow + "," + allow + "]}", "two statements Read"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if _, err := Parse([]byte(tc.text)); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("error is %v, want one with %q", err, tc.want)
			}
		})
	}
}

// Listeners and rules have no tags when the feature gate ListenerRulesTagging is off.
func TestShippedPolicyChangesListenersWithoutTags(t *testing.T) {
	text, err := os.ReadFile("../../../config/iam/load-balancers.json")
	if err != nil {
		t.Fatal(err)
	}
	p, err := Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	for action, resource := range map[string]string{
		"ModifyListener": "listener", "ModifyListenerAttributes": "listener", "AddListenerCertificates": "listener",
		"RemoveListenerCertificates": "listener", "DeleteListener": "listener", "ModifyRule": "listener-rule", "DeleteRule": "listener-rule",
	} {
		call := Call{"elasticloadbalancing:" + action, "arn:aws:elasticloadbalancing:eu-west-1:123456789012:" + resource + "/app/a/b/c", nil}
		if !Evaluate([]Policy{p}, call).Allowed {
			t.Errorf("load-balancers.json does not allow %s on a %s without tags", action, resource)
		}
	}
}

// Kept to the name of a cluster, the shipped policies allow no change of what another cluster's tag is on, nor give such a tag.
func TestShippedPoliciesAreKeptToACluster(t *testing.T) {
	kept := 0
	for _, file := range []string{"load-balancers.json", "certificates.json"} {
		text, err := os.ReadFile("../../../config/iam/" + file)
		if err != nil {
			t.Fatal(err)
		}
		p, err := Parse([]byte(strings.ReplaceAll(string(text), `cluster": "*"`, `cluster": "ours"`)))
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range p.statements {
			isOfCluster := func(c condition) bool {
				return strings.HasSuffix(c.key, "tag/elbv2.k8s.aws/cluster") && c.operator != "Null"
			}
			i := slices.IndexFunc(s.conditions, isOfCluster)
			if i < 0 {
				continue
			}
			for cluster, want := range map[string]bool{"ours": true, "theirs": false} {
				call := Call{s.actions[0].text, strings.ReplaceAll(s.resources[0].text, "*", "x"), map[string]string{
					s.conditions[i].key: cluster, "ec2:CreateAction": "CreateSecurityGroup", "elasticloadbalancing:CreateAction": "CreateTargetGroup",
				}}
				if got := Evaluate([]Policy{p}, call).Allowed; got != want {
					t.Errorf("%s, %s of %s: allowed %v, want %v", file, s.name, cluster, got, want)
				}
				kept++
			}
		}
	}
	if kept < 16 {
		t.Errorf("%d statements are kept to a cluster, want 8 or more", kept/2)
	}
}

// TestParseReadsWhatIsShipped reads all policies in config/iam.
func TestParseReadsWhatIsShipped(t *testing.T) {
	const folder = "../../../config/iam"
	files, err := os.ReadDir(folder)
	if err != nil || len(files) == 0 {
		t.Fatalf("%d files: %v", len(files), err)
	}
	for _, file := range files {
		text, err := os.ReadFile(folder + "/" + file.Name())
		if err != nil {
			t.Fatal(err)
		}
		p, err := Parse(text)
		if err != nil {
			t.Errorf("%s: %v", file.Name(), err)
		}
		needed := Call{"elasticloadbalancing:RegisterTargets", "arn:aws:elasticloadbalancing:eu-west-1:123456789012:targetgroup/a/b", nil}
		switch file.Name() {
		case "load-balancers.json":
			needed = Call{"elasticloadbalancing:CreateRule", "arn:aws:elasticloadbalancing:eu-west-1:123456789012:listener/app/a/b/c", nil}
		case "certificates.json":
			needed = Call{"route53:ChangeResourceRecordSets", "arn:aws:route53:::hostedzone/Z1", map[string]string{
				"route53:changeresourcerecordsetsactions": "CREATE", "route53:changeresourcerecordsetsrecordtypes": "CNAME",
			}}
		}
		if !Evaluate([]Policy{p}, needed).Allowed {
			t.Errorf("%s does not allow %s", file.Name(), needed.Action)
		}
	}
}
