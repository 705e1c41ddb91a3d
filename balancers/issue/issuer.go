// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package issue

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/utils/clock"

	"github.com/targetgate/targetgate/aws/acm"
	"github.com/targetgate/targetgate/aws/route53"
	"github.com/targetgate/targetgate/balancers/account"
	"github.com/targetgate/targetgate/balancers/stack"
)

// ACM are the calls of Certificate Manager.
type ACM interface {
	Requested(context.Context) ([]string, error)
	Certificate(ctx context.Context, arn string) (acm.Certificate, error)
	Tags(ctx context.Context, arn string) (map[string]string, error)
	Request(context.Context, acm.Request) (arn string, err error)
	Delete(ctx context.Context, arn string) error
}

// DNS are the calls of Route 53.
type DNS interface {
	Zones(context.Context) ([]route53.Zone, error)
	Create(ctx context.Context, zone route53.Zone, name, value string) error
}

// Issuer knows the certificates that ACM was asked for on behalf of Ingresses of one cluster. It is safe for concurrent use; of one stack,
// it must not be asked twice at once.
type Issuer struct {
	ACM     ACM
	DNS     DNS
	Clock   clock.PassiveClock
	Cluster string
	// Interval is how old what is known may be of which certificates there are. What the Issuer does itself it knows at once.
	Interval time.Duration

	listed account.Refresh

	mu      sync.Mutex         // guards what follows
	known   map[string]known   // by ARN
	deleted int                // how many we have deleted
	refused map[string]refusal // of requests, by their token
	zones   []route53.Zone
	zonesAt time.Time
}

// known is what is known of a certificate.
type known struct {
	certificate acm.Certificate
	owner       stack.ID // of the cluster's own ones
	marked      bool     // the tags are those of a controller, of whatever cluster
	described   time.Time
	made        time.Time // when we have requested it
	recorded    time.Time // when its records were made last
	unrecorded  error     // why that failed
}

// refusal is why and when ACM has refused a request.
type refusal struct {
	err error
	at  time.Time
}

// How old what is known of a certificate may be: of one that waits to be issued, and of one that is issued, which keeps its domains.
const (
	waitingAge = 5 * time.Second
	issuedAge  = 10 * time.Hour
)

const (
	listTimeout = 15 * time.Minute // 2,500 certificates, the quota of an account, with their tags take 9 minutes of the budget's calls
	lag         = 5 * time.Minute  // for how long ACM may not list what was requested
)

// Of are the certificates of a stack, by ARN.
func (i *Issuer) Of(ctx context.Context, id stack.ID) ([]acm.Certificate, error) {
	if err := i.refresh(ctx); err != nil {
		return nil, err
	}
	var out []acm.Certificate
	for arn, k := range i.all() {
		if k.owner != id {
			continue
		}
		certificate, isThere, err := i.describe(ctx, arn, k)
		if err != nil {
			return nil, err
		}
		if isThere {
			out = append(out, certificate)
		}
	}
	slices.SortFunc(out, func(a, b acm.Certificate) int { return strings.Compare(a.ARN, b.ARN) })
	return out, nil
}

// describe is the certificate as it is known, or as ACM describes it now. What was requested a short time ago is there though ACM does not
// show it.
func (i *Issuer) describe(ctx context.Context, arn string, k known) (c acm.Certificate, isThere bool, err error) {
	if !k.isOld(i.Clock.Now()) {
		return k.certificate, true, nil
	}
	c, err = i.ACM.Certificate(ctx, arn)
	switch {
	case acm.IsNotFound(err) && i.Clock.Since(k.made) < lag:
		return k.certificate, true, nil
	case acm.IsNotFound(err):
		i.forget(arn)
		return c, false, nil
	case err == nil:
		i.note(arn, func(k *known) { k.certificate, k.described = c, i.Clock.Now() })
	}
	return c, true, err
}

// isOld reports whether the certificate may be otherwise by now.
func (k known) isOld(now time.Time) bool {
	if isIssued(k.certificate) {
		return now.Sub(k.described) >= issuedAge
	}
	return now.Sub(k.described) >= waitingAge
}

func isIssued(c acm.Certificate) bool  { return c.Status == "ISSUED" }
func isPending(c acm.Certificate) bool { return c.Status == "PENDING_VALIDATION" || c.Status == "" }

// Marked are the ARNs of all certificates that a controller has asked for, of whatever cluster: each deletes its own.
func (i *Issuer) Marked(ctx context.Context) (map[string]bool, error) {
	if err := i.refresh(ctx); err != nil {
		return nil, err
	}
	out := map[string]bool{}
	for arn, k := range i.all() {
		if k.marked {
			out[arn] = true
		}
	}
	return out, nil
}

// Stacks are the IDs of all stacks that have a certificate.
func (i *Issuer) Stacks(ctx context.Context) ([]stack.ID, error) {
	if err := i.refresh(ctx); err != nil {
		return nil, err
	}
	owners := map[stack.ID]bool{}
	for _, k := range i.all() {
		if k.owner != (stack.ID{}) {
			owners[k.owner] = true
		}
	}
	var out []stack.ID
	for id := range owners {
		out = append(out, id)
	}
	return out, nil
}

// refresh lists the certificates if the list is too old.
func (i *Issuer) refresh(ctx context.Context) error {
	return i.listed.Do(ctx, i.Clock, i.Interval, listTimeout, i.list)
}

// list finds out which certificates there are, and whose those are of which that is not known. What it has found out stays known when a
// later call fails.
func (i *Issuer) list(ctx context.Context) error {
	began := i.Clock.Now()
	arns, err := i.ACM.Requested(ctx)
	if err != nil {
		return err
	}
	before := i.all()
	for _, arn := range arns {
		if _, is := before[arn]; is {
			continue
		}
		tags, err := i.ACM.Tags(ctx, arn)
		if acm.IsNotFound(err) {
			continue
		}
		if err != nil {
			return err
		}
		owner, _ := account.Owner(i.Cluster, tags)
		i.note(arn, func(k *known) { k.owner, k.marked = owner, tags[stack.ClusterTag] != "" })
	}
	for arn, k := range before {
		if !slices.Contains(arns, arn) && began.Sub(k.made) >= lag {
			i.forget(arn)
		}
	}
	return nil
}

// all is a copy of what is known.
func (i *Issuer) all() map[string]known {
	i.mu.Lock()
	defer i.mu.Unlock()
	out := make(map[string]known, len(i.known))
	for arn, k := range i.known {
		out[arn] = k
	}
	return out
}

// note changes what is known of a certificate.
func (i *Issuer) note(arn string, change func(*known)) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.known == nil {
		i.known = map[string]known{}
	}
	k := i.known[arn]
	change(&k)
	i.known[arn] = k
}

func (i *Issuer) forget(arn string) {
	i.mu.Lock()
	defer i.mu.Unlock()
	delete(i.known, arn)
}
