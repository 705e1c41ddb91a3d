// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	networkingv1 "k8s.io/api/networking/v1"

	"github.com/targetgate/targetgate/e2e/emulator/acm"
	"github.com/targetgate/targetgate/e2e/run"
)

const (
	groupSize, pathsEach = 50, 2
	apart                = 40 * time.Millisecond
	idle                 = time.Minute
	idleCalls            = "an idle minute: AWS calls"
)

// Tags that change because rules were moved are written lateDelay after the last change.
const (
	lateTags  = "half a minute later, tags"
	lateDelay = 31 * time.Second
)

// create creates Ingresses, with a pause after each, and returns when each was.
func (e *estate) create(ctx context.Context, pause time.Duration, list ...*networkingv1.Ingress) (
	created map[*networkingv1.Ingress]time.Time, err error,
) {
	created = map[*networkingv1.Ingress]time.Time{}
	for _, ingress := range list {
		at := time.Now()
		if err := e.bed.Client.Create(ctx, ingress); err != nil {
			return nil, fmt.Errorf("creating Ingress %s: %w", ingress.Name, err)
		}
		created[ingress] = at
		if err := run.Pause(ctx, pause); err != nil {
			return nil, err
		}
	}
	return created, nil
}

// created measures the creation of Ingresses until AWS is not called any more.
func (e *estate) created(ctx context.Context, name string, pause time.Duration, list ...*networkingv1.Ingress) error {
	return e.counted(ctx, name, func() error {
		created, err := e.create(ctx, pause, list...)
		if err != nil {
			return err
		}
		took, err := e.awaitRight(ctx, created)
		e.result.time(name+": name in the status, median", quantile(took.named, 0.5))
		e.result.time(name+": right, last", slices.Max(append(took.right, 0)))
		return err
	})
}

// changed measures a change until these Ingresses are right.
func (e *estate) changed(ctx context.Context, name string, change func() error, right ...*networkingv1.Ingress) error {
	return e.counted(ctx, name, func() error {
		begin := time.Now()
		if err := change(); err != nil {
			return err
		}
		since := map[*networkingv1.Ingress]time.Time{}
		for _, ingress := range right {
			since[ingress] = begin
		}
		took, err := e.awaitRight(ctx, since)
		e.result.time(name+": right", slices.Max(append(took.right, 0)))
		return err
	})
}

// edit changes an Ingress in the cluster, and takes in what it is then.
func (e *estate) edit(ctx context.Context, ingress *networkingv1.Ingress, edit func(*networkingv1.Ingress)) func() error {
	return func() error {
		before := ingress.DeepCopy()
		edit(ingress)
		after := ingress.DeepCopy()
		return e.change(ctx, before, func(i *networkingv1.Ingress) { i.Spec, i.Annotations = after.Spec, after.Annotations })
	}
}

// deleted measures the deletion of Ingresses until nothing is left of them.
func (e *estate) deleted(ctx context.Context, name string, list ...*networkingv1.Ingress) error {
	return e.counted(ctx, name, func() error {
		begin := time.Now()
		for _, ingress := range list {
			if err := e.bed.Client.Delete(ctx, ingress); err != nil {
				return fmt.Errorf("deleting Ingress %s: %w", ingress.Name, err)
			}
		}
		balancers, all, err := e.awaitGone(ctx, begin)
		e.result.time(name+": load balancers gone", balancers)
		e.result.time(name+": all gone", all)
		return err
	})
}

// oneIngress measures the life of one Ingress, and then what TLS adds.
func oneIngress(ctx context.Context, e *estate) error {
	plain, err := e.serve(ctx, "plain", 3)
	if err != nil {
		return err
	}
	for _, do := range []func() error{
		func() error { return e.created(ctx, "created", 0, plain) },
		func() error { return e.rest(ctx) },
		func() error { return e.restarted(ctx) },
		func() error { return e.deleted(ctx, "deleted", plain) },
		func() error { return e.secure(ctx) },
	} {
		if err := do(); err != nil {
			return err
		}
	}
	return nil
}

func (e *estate) addCertificate(host string) error {
	_, err := e.bed.AWS.ACM.Add("", acm.Spec{Domains: []string{host}})
	return err
}

// secure measures an Ingress with HTTPS and a redirect, a second host with a certificate, and a third one whose certificate is issued
// when it is already there.
func (e *estate) secure(ctx context.Context) error {
	const second, third = "second.example.com", "third.example.com"
	secure, err := e.serve(ctx, "secure", 1, `listen-ports=[{"HTTP":80},{"HTTPS":443}]`, "ssl-redirect=443")
	if err := errors.Join(err, e.addCertificate("secure.example.com"), e.addCertificate(second)); err != nil {
		return err
	}
	if err := e.created(ctx, "HTTPS", 0, secure); err != nil {
		return err
	}
	addHost := func(host string) func(*networkingv1.Ingress) {
		return func(i *networkingv1.Ingress) {
			rule := *i.Spec.Rules[0].DeepCopy()
			rule.Host = host
			i.Spec.Rules = append(i.Spec.Rules, rule)
		}
	}
	if err := e.changed(ctx, "second host with TLS", e.edit(ctx, secure, addHost(second)), secure); err != nil {
		return err
	}
	late, err := e.serve(ctx, "late", 1, `listen-ports=[{"HTTPS":443}]`)
	if err != nil {
		return err
	}
	late.Spec.Rules[0].Host = third
	if _, err := e.create(ctx, watched, late); err != nil {
		return err
	}
	return e.changed(ctx, "certificate issued later", func() error { return e.addCertificate(third) }, late)
}

// members are those of a group, with a number for each.
func (e *estate) members(ctx context.Context, count int) ([]*networkingv1.Ingress, error) {
	list := make([]*networkingv1.Ingress, count)
	for i := range list {
		var err error
		if list[i], err = e.serve(ctx, fmt.Sprintf("member-%02d", i), pathsEach, "group.name=all", "scheme=internal"); err != nil {
			return nil, err
		}
	}
	return list, nil
}

func groupApart(ctx context.Context, e *estate) error {
	list, err := e.members(ctx, groupSize)
	if err != nil {
		return err
	}
	begin, err := e.mark()
	if err != nil {
		return err
	}
	if err := e.created(ctx, "created", apart, list...); err != nil {
		return err
	}
	end, err := e.mark()
	e.result.time("created: CPU of targetgate", end.cpu-begin.cpu)
	return err
}

// groupAtOnce measures a group, and then changes of one member when there are some 100 rules.
func groupAtOnce(ctx context.Context, e *estate) error {
	list, err := e.members(ctx, groupSize)
	if err != nil {
		return err
	}
	added, err := e.serve(ctx, "member-25-added", pathsEach, "group.name=all", "scheme=internal")
	if err != nil {
		return err
	}
	last := list[groupSize-1]
	newPath := func(i *networkingv1.Ingress) { i.Spec.Rules[0].HTTP.Paths[0].Path = "/changed" }
	for _, do := range []func() error{
		func() error { return e.created(ctx, "created", 0, list...) },
		func() error {
			return e.changed(ctx, "one path changed", e.edit(ctx, list[groupSize/2], newPath), list[groupSize/2])
		},
		func() error { return e.memberDeleted(ctx, list[0], last) },
		func() error { return e.created(ctx, "one member added", 0, added) },
		func() error { return e.counted(ctx, lateTags, func() error { return run.Pause(ctx, lateDelay) }) },
		func() error { return e.restarted(ctx) },
	} {
		if err := do(); err != nil {
			return err
		}
	}
	return nil
}

// memberDeleted measures the deletion of the first member until its finalizer is off and the others are right.
func (e *estate) memberDeleted(ctx context.Context, member *networkingv1.Ingress, others ...*networkingv1.Ingress) error {
	return e.changed(ctx, "one member deleted", func() error {
		if err := e.bed.Client.Delete(ctx, member); err != nil {
			return fmt.Errorf("deleting Ingress %s: %w", member.Name, err)
		}
		return e.await(ctx, ingressTimeout, func() (bool, string) {
			for route := range e.routes() {
				if strings.Contains(route, " "+member.Spec.Rules[0].Host+" ") {
					return false, "the rules of the deleted member are there"
				}
			}
			return true, ""
		})
	}, others...)
}

// alone creates Ingresses that all have load balancers of their own, and measures that, and then a minute in which nothing happens.
func (e *estate) alone(ctx context.Context, count int) ([]*networkingv1.Ingress, error) {
	list := make([]*networkingv1.Ingress, count)
	for i := range list {
		var err error
		if list[i], err = e.serve(ctx, fmt.Sprintf("alone-%03d", i), 1); err != nil {
			return nil, err
		}
	}
	before := len(e.bed.AWS.Calls(0))
	if err := e.created(ctx, "created", 0, list...); err != nil {
		return nil, err
	}
	e.result.count("created: throttled calls", matching(e.callsSince(before), isThrottled))
	return list, e.rest(ctx)
}

// rest measures a minute in which nothing happens.
func (e *estate) rest(ctx context.Context) error {
	before := len(e.bed.AWS.Calls(0))
	if err := run.Pause(ctx, idle); err != nil {
		return err
	}
	e.result.count(idleCalls, len(e.callsSince(before)))
	return nil
}

// thousand measures what the size of the account costs.
func thousand(ctx context.Context, e *estate) error {
	list, err := e.alone(ctx, 1000)
	if err != nil {
		return err
	}
	newPath := func(i *networkingv1.Ingress) { i.Spec.Rules[0].HTTP.Paths[0].Path = "/changed" }
	if err := e.changed(ctx, "one path changed", e.edit(ctx, list[500], newPath), list[500]); err != nil {
		return err
	}
	return e.restarted(ctx)
}

// hundred measures Ingresses within AWS's limits, and then their deletion.
func hundred(ctx context.Context, e *estate) error {
	list, err := e.alone(ctx, 100)
	if err != nil {
		return err
	}
	before := len(e.bed.AWS.Calls(0))
	err = e.deleted(ctx, "deleted", list...)
	e.result.count("deleted: refused calls", matching(e.callsSince(before), isRefused))
	return err
}
