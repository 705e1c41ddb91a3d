// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build !race

package accepted

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/targetgate/targetgate/balancers/stack"
)

// site is one thing in a stack that somebody else may change.
type site struct {
	field string // such as LoadBalancer.Scheme
	how   string // what is done to it
	// owner is the part of the stack that the call is about: a *stack.LoadBalancer, *stack.Listener, *stack.Rule, *stack.TargetGroup or
	// *stack.SecurityGroup, whose copy has the change; above it are those that it is in.
	owner any
	above []any
	alter func() // makes the change in the copy
	key   string // of a map
	at    int    // place in a list, -1 for something new
}

func (s site) String() string { return s.field + ": " + s.how }

// copyOf is a copy of a stack that shares nothing with it.
func copyOf(t testing.TB, s stack.Stack) *stack.Stack {
	t.Helper()
	text, err := json.Marshal(s)
	out := &stack.Stack{}
	if err == nil {
		err = json.Unmarshal(text, out)
	}
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// sitesOf are all of a stack that is seen, in the same order each time. Of attributes, those that are wanted are ours.
func sitesOf(s *stack.Stack, wanted stack.Stack, theirs map[string]string) []site {
	f := &finder{owned: ownedAttributes(wanted), theirs: theirs}
	f.structure(reflect.ValueOf(s).Elem(), nil)
	return f.sites
}

// ownedAttributes are the keys that are wanted, by the resource tag of what has them.
func ownedAttributes(wanted stack.Stack) map[string]map[string]bool {
	out := map[string]map[string]bool{}
	add := func(part string, attributes ...map[string]string) {
		out[part] = map[string]bool{}
		for _, a := range attributes {
			for key := range a {
				out[part][key] = true
			}
		}
	}
	for _, s := range wanted.All() {
		for _, b := range s.LoadBalancers {
			add(b.Part(), b.Attributes, b.Presets)
			for _, l := range b.Listeners {
				add(l.Part(), l.Attributes, l.Presets)
			}
		}
		for _, g := range s.TargetGroups {
			add(g.Part, g.Attributes, g.Presets)
		}
	}
	return out
}

type finder struct {
	owned  map[string]map[string]bool
	theirs map[string]string // values of fields that name what somebody else has made
	sites  []site
	// single says that they are of a forward to one target group.
	single bool
}

// owners are the types that AWS knows: the parts of a stack.
var owners = []reflect.Type{
	reflect.TypeFor[stack.LoadBalancer](), reflect.TypeFor[stack.Listener](), reflect.TypeFor[stack.Rule](),
	reflect.TypeFor[stack.TargetGroup](), reflect.TypeFor[stack.SecurityGroup](), reflect.TypeFor[stack.Stack](),
}

func (f *finder) structure(v reflect.Value, above []any) {
	if slices.Contains(owners, v.Type()) {
		above = append([]any{v.Addr().Interface()}, above...)
	}
	if forward, ok := v.Interface().(stack.Forward); ok {
		f.single = len(forward.Groups) == 1
		defer func() { f.single = false }()
	}
	for i := range v.NumField() {
		name := v.Type().Name() + "." + v.Type().Field(i).Name
		if v.Type().Field(i).Anonymous {
			f.structure(v.Field(i), above)
			continue
		}
		f.value(name, v.Field(i), above)
	}
}

// fixed are the fields that nobody can change in AWS, or that say nothing of AWS, with the reason.
var fixed = map[string]string{
	"ID.Cluster": "of the stack", "ID.Kind": "of the stack", "ID.Name": "of the stack",
	"Stack.Members": "of what is wanted", "Stack.Voters": "of what is wanted", "Stack.Certificates": "of what is wanted",
	"Stack.Bindings": "of the API server", "Member.*": "of what is wanted", "Binding.*": "of the API server", "BindingSpec.*": "of the API server",
	"IntOrString.*": "of the API server", "Certificate.*": "of ACM, which lets nobody change a certificate",

	"LoadBalancer.Network": "AWS allows no change", "LoadBalancer.ARN": "AWS chooses it", "LoadBalancer.DNSName": "AWS chooses it",
	"LoadBalancer.Active": "AWS's state", "LoadBalancer.Failed": "AWS's state", "LoadBalancer.InStatus": "of the API server",
	"LoadBalancer.Name": "AWS allows no change", "LoadBalancer.SpareName": "of what is wanted", "LoadBalancer.Scheme": "AWS allows no change",
	"LoadBalancer.Allocations": "AWS allows no change", "LoadBalancer.Presets": "of what is wanted", "LoadBalancer.Shield": "of what is wanted", "LoadBalancer.CustomerPool": "AWS allows no change",
	"Protection.Own": "the name that it was made with",

	"Listener.ARN": "AWS chooses it", "Listener.Owners": "of what is wanted", "Listener.DefaultOwner": "of what is wanted",
	"Listener.Presets": "of what is wanted", "Rule.ARN": "AWS chooses it", "Rule.Owner": "of what is wanted",
	"Action.Unknown": "no setting", "Condition.Field": "another condition, with Rule.Conditions", "Transform.Type": "another one, with Rule.Transforms",
	"Transform.Rewrites": "AWS wants one, whose fields count", "LoadBalancer.ClassicACL": "AWS has retired AWS WAF Classic",
	"OIDC.Secret": "AWS never shows it", "OIDC.Version": "a tag, with Rule.Tags",
	"OIDC.Assumed": "of the process", "Ref.Part": "of the stack",
	"Forward.StickyOff": "seconds of a stickiness that is off do nothing",

	"TargetGroup.ARN": "AWS chooses it", "TargetGroup.LoadBalancers": "AWS finds it out from rules", "TargetGroup.Part": "a tag, with TargetGroup.Tags",
	"TargetGroup.Owner": "of what is wanted", "TargetGroup.Name": "AWS allows no change", "TargetGroup.SpareName": "of what is wanted",
	"TargetGroup.TargetType": "AWS allows no change", "TargetGroup.Protocol": "AWS allows no change",
	"TargetGroup.ProtocolVersion": "AWS allows no change", "TargetGroup.Port": "AWS allows no change",
	"TargetGroup.AddressType": "AWS allows no change", "TargetGroup.ControlPort": "AWS allows no change", "TargetGroup.Presets": "of what is wanted",

	"SecurityGroup.ID": "AWS chooses it", "SecurityGroup.Part": "a tag, with SecurityGroup.Tags", "SecurityGroup.Name": "AWS allows no change",
	"SecurityGroup.Description": "AWS allows no change", "SecurityGroup.Shared": "a tag, with SecurityGroup.Tags",
}

// isFixed reports whether the field, or its whole type, is.
func isFixed(field string) bool {
	kind, _, _ := strings.Cut(field, ".")
	return fixed[field] != "" || fixed[kind+".*"] != ""
}

// fieldsOf are those of all types that a stack is made of.
func fieldsOf(kind reflect.Type, into map[string]bool) {
	switch kind.Kind() {
	case reflect.Pointer, reflect.Slice:
		fieldsOf(kind.Elem(), into)
	case reflect.Struct:
		for i := range kind.NumField() {
			field := kind.Field(i)
			name := kind.Name() + "." + field.Name
			if _, done := into[name]; done {
				continue
			}
			element := field.Type
			for element.Kind() == reflect.Pointer {
				element = element.Elem()
			}
			if into[name] = true; element.Kind() == reflect.Struct && element != reflect.TypeFor[stack.Action]() {
				into[name] = false // its own fields count
			}
			if kind.PkgPath() == reflect.TypeFor[stack.Stack]().PkgPath() {
				fieldsOf(field.Type, into)
			}
		}
	}
}

func (f *finder) add(field, how string, above []any, alter func(), key string, at int) {
	if f.single {
		how = "of a single target group, " + how
	}
	f.sites = append(f.sites, site{field: field, how: how, owner: above[0], above: above[1:], alter: alter, key: key, at: at})
}

func (f *finder) value(field string, v reflect.Value, above []any) {
	if isFixed(field) && v.Kind() != reflect.Struct && v.Kind() != reflect.Slice { // what these have counts for itself
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		f.structure(v, above)
		if v.Type() == reflect.TypeFor[stack.Action]() {
			f.add(field, "replaced", above, func() {
				v.Set(reflect.ValueOf(stack.Action{Fixed: &stack.FixedResponse{Status: "418", ContentType: "text/plain"}}))
			}, "", 0)
		}
	case reflect.Pointer:
		if v.IsNil() {
			return
		}
		if v.Elem().Kind() == reflect.Struct {
			f.structure(v.Elem(), above)
			return
		}
		f.value(field, v.Elem(), above)
	case reflect.Map:
		f.mapping(field, v, above)
	case reflect.Slice:
		f.list(field, v, above)
	default:
		f.leaf(field, v, above)
	}
}

// mapping has the sites of tags and attributes.
func (f *finder) mapping(field string, v reflect.Value, above []any) {
	if v.Type().Elem().Kind() != reflect.String {
		return
	}
	all := v.Interface().(map[string]string)
	attributes := strings.HasSuffix(field, ".Attributes")
	for _, key := range slices.Sorted(maps.Keys(all)) {
		if attributes && !f.owned[partOf(above[0])][key] {
			continue
		}
		f.add(field, key+" is changed", above, func() { all[key] = otherAttribute(key, all[key]) }, key, 0)
		if !attributes {
			f.add(field, key+" is removed", above, func() { delete(all, key) }, key, 0)
		}
	}
	if !attributes && len(all) > 0 {
		f.add(field, "another is added", above, func() { all["another"] = "one" }, "another", -1)
	}
}

func partOf(owner any) string {
	switch o := owner.(type) {
	case *stack.LoadBalancer:
		return o.Part()
	case *stack.Listener:
		return o.Part()
	case *stack.TargetGroup:
		return o.Part
	}
	return ""
}

// list has the sites of a list: each of its members, each of them removed, and one more.
func (f *finder) list(field string, v reflect.Value, above []any) {
	for i := range v.Len() {
		if f.value(field, v.Index(i), above); isFixed(field) {
			continue
		}
		f.add(field, fmt.Sprintf("number %d is removed", i), above, func() {
			v.Set(reflect.AppendSlice(v.Slice3(0, i, i), v.Slice(i+1, v.Len())))
		}, "", i)
	}
	if v.Len() > 0 && !isFixed(field) {
		f.add(field, "one more is added", above, func() {
			more := reflect.New(v.Type().Elem()).Elem()
			more.Set(v.Index(v.Len() - 1))
			if others := alternatives[field]; len(others) > 0 {
				more.SetString(others[len(others)-1])
			}
			v.Set(reflect.Append(v, more))
		}, "", -1)
	}
}

// leaf has one site for each of the other values that AWS takes.
func (f *finder) leaf(field string, v reflect.Value, above []any) {
	now := fmt.Sprint(v.Interface())
	if others, ok := alternatives[field]; ok {
		for _, other := range others {
			if other != now && v.Kind() == reflect.String {
				f.add(field, now+" becomes "+other, above, func() { v.SetString(other) }, "", 0)
			}
		}
		return
	}
	f.add(field, now+" becomes another", above, func() {
		switch kind := v.Kind(); {
		case f.theirs[field] != "":
			v.SetString(f.theirs[field])
		case kind == reflect.Bool:
			v.SetBool(!v.Bool())
		case kind == reflect.String:
			v.SetString(v.String() + "x")
		case field == "Inbound.From" || field == "Session.Timeout": // the largest by default
			v.SetInt(v.Int() - 1)
		default:
			v.SetInt(v.Int() + 1)
		}
	}, "", 0)
}

// alternatives are values of fields that do not take any text.
var alternatives = map[string][]string{
	"LoadBalancer.AddressType":   {"ipv4", "dualstack"},
	"LoadBalancer.Subnets":       {"subnet-0a000000000000001", "subnet-0b000000000000002", "subnet-0c000000000000003"},
	"Listener.Protocol":          {"HTTP", "HTTPS"},
	"Listener.SSLPolicy":         {"ELBSecurityPolicy-2016-08"},
	"Listener.Certificates":      {certificate, another},
	"MutualAuth.Mode":            {"off", "passthrough"},
	"Condition.Values":           {"10.9.0.0/16", "/another", "another.example.com", "PUT"},
	"Redirect.Status":            {"HTTP_301", "HTTP_302"},
	"Redirect.Port":              {"8443"},
	"Redirect.Protocol":          {"HTTPS", "HTTP"},
	"FixedResponse.Status":       {"503"},
	"FixedResponse.ContentType":  {"text/html"},
	"HealthCheck.Port":           {"9999"},
	"HealthCheck.Protocol":       {"HTTP", "HTTPS"},
	"HealthCheck.Matcher":        {"200-399", "12"},
	"Session.Unauthenticated":    {"deny", "allow", "authenticate"},
	"Claim.Format":               {"single-string", "string-array"},
	"Inbound.Source":             {"192.0.2.0/24", "2001:db8::/32"},
	"Inbound.Protocol":           {"-1", "udp"},
	"OIDC.Issuer":                {"https://another.example"},
	"OIDC.AuthorizationEndpoint": {"https://another.example/a"},
	"OIDC.TokenEndpoint":         {"https://another.example/t"},
	"OIDC.UserInfoEndpoint":      {"https://another.example/u"},
	"JWT.JWKSEndpoint":           {"https://another.example/keys"},
	"Cognito.UserPoolARN":        {"arn:aws:cognito-idp:eu-west-1:123456789012:userpool/another"},
}

// otherAttribute is another value of an attribute, or of a tag.
func otherAttribute(_, value string) string {
	switch value {
	case "true":
		return "false"
	case "false":
		return "true"
	case "lax", "strictest":
		return "monitor"
	case "round_robin":
		return "least_outstanding_requests"
	case "lb_cookie":
		return "app_cookie"
	case "append":
		return "preserve"
	}
	if value != "" && strings.Trim(value, "0123456789") == "" {
		return value + "1"
	}
	return value + "x"
}
