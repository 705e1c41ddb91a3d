// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package stack

import (
	"cmp"
	"slices"
)

// Listener takes in what clients send to one port.
type Listener struct {
	ARN  string // of one that is seen
	Port int32

	Protocol  string // HTTP, HTTPS; TCP of a Network Load Balancer
	SSLPolicy string // of HTTPS
	// MutualAuth says whether clients show a certificate; of one that is wanted nil leaves what there is.
	MutualAuth *MutualAuth
	// Certificates of HTTPS, by ARN: the default one, then the list for SNI. The default one is to be in that list, too: of a listener
	// that is wanted it stands here once, of one that is seen a second time if it is in the list.
	Certificates []string
	// Owners are the names of the members that want a certificate, the first one of each, by ARN; of a listener that is wanted.
	Owners map[string]string
	// Default is what is done with requests that no rule matches. DefaultOwner is the member that wants that; of a listener that is wanted,
	// "" for nobody.
	Default      Action
	DefaultOwner string
	Attributes   map[string]string // those to be set; of one that is seen all, or nil while they are not read
	Presets      map[string]string // of one that is wanted: what others that it has go back to
	Tags         map[string]string
	Rules        []Rule // in the order in which they are tried, without the default
}

// SNI is the list for SNI of a listener that is seen.
func (l *Listener) SNI() []string { return l.Certificates[min(1, len(l.Certificates)):] }

// Additional are the certificates of a listener without the default one, as AWS's quota counts them. Whether that counts the default one,
// too, where it is in the list for SNI, AWS does not say.
func (l *Listener) Additional() []string {
	return slices.DeleteFunc(slices.Clone(l.SNI()), func(arn string) bool { return arn == l.Certificates[0] })
}

// MutualAuth says whether clients of an HTTPS listener show a certificate.
type MutualAuth struct {
	Mode           string `json:"mode"`                 // off, passthrough, verify
	TrustStore     string `json:"trustStore,omitempty"` // ARN; of mode verify, as what follows
	IgnoreExpiry   bool   `json:"ignoreClientCertificateExpiry,omitempty"`
	AdvertiseNames bool   `json:"advertiseTrustStoreCaNames,omitempty"`
}

// Rule says what is done with some requests.
type Rule struct {
	ARN      string // of one that is seen
	Priority int32  // of one that is seen; one that is wanted has its place in the list
	Owner    string // name of the member that wants it; not known of one that is seen

	Conditions []Condition // all must hold
	Action     Action
	Transforms []Transform // at most one of each type, sorted by type
	Tags       map[string]string
}

// Condition holds of requests of which one of the values fits.
type Condition struct {
	Field  string // host-header, path-pattern, http-header, http-request-method, query-string, source-ip
	Header string // name of the header; of http-header alone
	Values []string
	// Regex are the values of host-header, path-pattern and http-header as regular expressions, in place of Values.
	Regex []string
	Query []Parameter // the values of query-string
}

// Parameter is one of a query. Without a key it fits by its value alone.
type Parameter struct{ Key, Value string }

// Action is what is done with a request. Exactly one field besides Auth is set.
type Action struct {
	Auth     *Auth // who may pass; nil for everybody. HTTPS listeners alone have it.
	Forward  *Forward
	Redirect *Redirect
	Fixed    *FixedResponse
	// Unknown says what a rule or listener does that is seen and cannot be written as the others. It equals nothing that is wanted.
	Unknown string
}

// Forward sends a request to one of several target groups, by their weights.
type Forward struct {
	Groups []Weighted
	// Sticky keeps a client at the target group it was sent to, for that many seconds; 0 for not.
	Sticky int32
	// StickyOff are the seconds that are written of a stickiness that is switched off; 0 for none. They do nothing.
	StickyOff int32
}

// Weighted is a target group with its weight. That of a single one does not count.
type Weighted struct {
	Group  Ref
	Weight int32
}

// Redirect sends the client elsewhere. Parts that stay as the client has asked for them have their placeholder, as #{host}. An empty query
// is none.
type Redirect struct {
	Protocol, Host, Port, Path, Query string
	Status                            string // HTTP_301, HTTP_302
}

// Filled has the placeholders that AWS puts in where the redirect says nothing, but for the query.
func (r Redirect) Filled() Redirect {
	return Redirect{
		Protocol: cmp.Or(r.Protocol, "#{protocol}"), Host: cmp.Or(r.Host, "#{host}"), Port: cmp.Or(r.Port, "#{port}"),
		Path: cmp.Or(r.Path, "/#{path}"), Query: r.Query, Status: r.Status,
	}
}

// FixedResponse answers with a page of the load balancer's own.
type FixedResponse struct {
	Status, ContentType, Body string
}
