// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package ingresses

import (
	"encoding/json"
	"fmt"

	admissionv1 "k8s.io/api/admission/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/targetgate/targetgate/balancers/ingress/membership"
	"github.com/targetgate/targetgate/balancers/parts"
	"github.com/targetgate/targetgate/webhook/review"
)

// ingressView is the part of an Ingress that is read. Anybody may send anything, so it is counted before it is decoded.
type ingressView struct {
	Metadata struct {
		Namespace         string                   `json:"namespace"`
		Name              string                   `json:"name"`
		DeletionTimestamp *metav1.Time             `json:"deletionTimestamp"`
		Finalizers        review.Bounded[[]string] `json:"finalizers"`
		Annotations       annotationsView          `json:"annotations"`
	} `json:"metadata"`
	Spec specView `json:"spec"`
}

// annotationsView is review.LongestList annotations at most. Of more only those are decoded that say whose the Ingress is.
type annotationsView struct {
	review.Bounded[map[string]string]
}

// UnmarshalJSON decodes the annotations, or two of them.
func (a *annotationsView) UnmarshalJSON(data []byte) error {
	if err := a.Bounded.UnmarshalJSON(data); err != nil || !a.TooLong {
		return err
	}
	var few struct { // the case of keys does not count: API servers sort them, so that those in lower case come last
		Class *string `json:"kubernetes.io/ingress.class"`
		Group *string `json:"alb.ingress.kubernetes.io/group.name"`
	}
	err := json.Unmarshal(data, &few)
	a.Value = map[string]string{}
	for name, value := range map[string]*string{classAnnotation: few.Class, groupAnnotation: few.Group} {
		if value != nil {
			a.Value[name] = *value
		}
	}
	return err
}

// specView is a spec with at most so many values. Of one with more only the class is decoded.
type specView struct {
	networkingv1.IngressSpec
	most           int
	tooLarge, seen bool
}

// mostValues is how many values of a spec are decoded: 30 for each rule of the quota, which is 100 unless it is raised (parts.Limits says
// where that stands). A rule has 5: host, path, pathType, and the Service's name and port. The rest is for rules that no request needs, and
// for spec.tls.
func mostValues(limits parts.Limits) int { return 30 * max(limits.Rules, 100) }

// UnmarshalJSON decodes the spec, or its class alone. One that is there twice counts as too large.
func (s *specView) UnmarshalJSON(data []byte) error {
	if s.seen {
		s.tooLarge = true
		return nil
	}
	s.seen, s.tooLarge = true, review.HoldsMore(data, s.most, review.AllDepths)
	if !s.tooLarge {
		return json.Unmarshal(data, &s.IngressSpec)
	}
	var class struct {
		Name *string `json:"ingressClassName"`
	}
	err := json.Unmarshal(data, &class)
	s.IngressSpec = networkingv1.IngressSpec{IngressClassName: class.Name}
	return err
}

// decode returns an Ingress and what it was before, which has no name if it is new. Of an Ingress that is too large only what
// tells whose it is was decoded.
func (v *validator) decode(req *request) (now, before *networkingv1.Ingress, tooLarge bool, err error) {
	most := mostValues(v.options.Build.Limits)
	if now, tooLarge, err = decode(req.Object, most); err != nil {
		return nil, nil, false, fmt.Errorf("decoding the Ingress: %w", err)
	}
	if req.Operation != admissionv1.Update {
		return now, &networkingv1.Ingress{}, tooLarge, nil
	}
	if before, _, err = decode(req.OldObject, most); err != nil {
		return nil, nil, false, fmt.Errorf("decoding the former Ingress: %w", err)
	}
	return now, before, tooLarge, nil
}

func decode(raw json.RawMessage, most int) (ingress *networkingv1.Ingress, tooLarge bool, err error) {
	view := ingressView{Spec: specView{most: most}}
	if err := json.Unmarshal(raw, &view); err != nil {
		return nil, false, err
	}
	m := &view.Metadata
	tooLarge = view.Spec.tooLarge || m.Finalizers.TooLong || m.Annotations.TooLong || bytesOf(m.Annotations.Value) > mostBytes
	return &networkingv1.Ingress{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: m.Namespace, Name: m.Name, DeletionTimestamp: m.DeletionTimestamp,
			Finalizers: m.Finalizers.Value, Annotations: m.Annotations.Value,
		},
		Spec: view.Spec.IngressSpec,
	}, tooLarge, nil
}

// mostBytes is how many bytes of annotations are read: half as many again as API servers take, which is 256 KiB (TotalAnnotationSizeLimitB
// of apimachinery).
const mostBytes = 384 << 10

func bytesOf(annotations map[string]string) (n int) {
	for name, value := range annotations {
		n += len(name) + len(value)
	}
	return n
}

// unchecked is the verdict about an Ingress that is too large. Those of others are none of our business.
func (v *validator) unchecked(c membership.Classified) verdict {
	if !c.Ours {
		return verdict{}
	}
	return warn("this Ingress is not checked, as its spec has more than %d values, or its metadata more than %d annotations or finalizers, "+
		"or %d KiB of annotations: put less into it, as in several Ingresses",
		mostValues(v.options.Build.Limits), review.LongestList, mostBytes>>10)
}
