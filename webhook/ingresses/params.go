// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package ingresses

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"

	admissionv1 "k8s.io/api/admission/v1"

	"github.com/targetgate/targetgate/balancers/ingress"
	ingressapi "github.com/targetgate/targetgate/balancers/v1beta1"
	"github.com/targetgate/targetgate/webhook/review"
	"github.com/targetgate/targetgate/webhook/schema"
)

// mostParams is how many values of IngressClassParams are decoded. None need so many: AWS has 1,000 rules at most for a security group, and
// 50 tags.
const mostParams = 10_000

// reviewParams refuses what aws-load-balancer-controller refuses of IngressClassParams, with all faults at once, and warns of what else
// would hold an Ingress.
func (v *validator) reviewParams(_ context.Context, req *request) (verdict, error) {
	if req.Operation != admissionv1.Create && req.Operation != admissionv1.Update {
		return verdict{}, nil
	}
	if review.HoldsMore(req.Object, mostParams, review.AllDepths) {
		return warn("these IngressClassParams are not checked, as they have more than %d values: use fewer", mostParams), nil
	}
	params := &ingressapi.IngressClassParams{}
	if err := json.Unmarshal(req.Object, params); err != nil {
		return refuse("the IngressClassParams cannot be read: %v", err), nil // the CRD refuses it, too, and says where
	}
	if params.DeletionTimestamp != nil {
		return verdict{}, nil
	}
	faults := paramsFaults(&params.Spec)
	var warnings []string
	for _, fault := range ingress.CheckParams(params, v.options.Build) {
		warnings = append(warnings, fault.Error())
	}
	return verdict{refusal: strings.Join(faults, "; "), warnings: warnings}, nil
}

// paramsFaults are what aws-load-balancer-controller refuses.
func paramsFaults(spec *ingressapi.IngressClassParamsSpec) []string {
	return slices.Concat(cidrFaults(spec.InboundCIDRs), subnetFaults(spec.Subnets))
}

// beforeCRD refuses what the CRD of IngressClassParams is about to refuse, as the CRD's code makes GitOps tools delete them: then all
// Ingresses of their class are held. Warnings are left to the validator.
type beforeCRD struct{ crd *schema.Schema }

func (b *beforeCRD) reviewParams(_ context.Context, req *request) (verdict, error) {
	if req.Operation != admissionv1.Create && req.Operation != admissionv1.Update ||
		review.HoldsMore(req.Object, mostParams, review.AllDepths) || review.HoldsMore(req.OldObject, mostParams, review.AllDepths) {
		return verdict{}, nil
	}
	now, err := viewParams(req.Object)
	if err != nil || now.Metadata.DeletionTimestamp != nil {
		return verdict{}, err
	}
	before, err := viewParams(req.OldObject)
	if err != nil {
		return verdict{}, err
	}
	faults, err := b.faults(now.Spec, before.Spec)
	return verdict{refusal: strings.Join(faults, "; ")}, err
}

// faults are those of a spec that this change makes.
func (b *beforeCRD) faults(now, before json.RawMessage) (faults []string, err error) {
	found, err := b.crd.Check(now, before)
	if err != nil {
		return nil, fmt.Errorf("checking the IngressClassParams: %w", err)
	}
	for _, fault := range found.Made {
		faults = append(faults, fault.Error())
	}
	if len(found.All) == 0 && len(now) > 0 {
		var spec ingressapi.IngressClassParamsSpec
		if err := json.Unmarshal(now, &spec); err != nil {
			return nil, fmt.Errorf("decoding the spec of the IngressClassParams: %w", err)
		}
		faults = slices.Concat(spellingFaults(&spec), paramsFaults(&spec))
	}
	return faults, nil
}

// spellingFaults are those of the CRD's rule.
func spellingFaults(spec *ingressapi.IngressClassParamsSpec) []string {
	if spec.PrefixListsIDs == nil || spec.LegacyPrefixListsIDs == nil {
		return nil
	}
	return []string{"spec: set prefixListsIDs alone; PrefixListsIDs is its old spelling"}
}

// paramsView is the part of IngressClassParams that is read before the CRD.
type paramsView struct {
	Metadata struct {
		DeletionTimestamp any `json:"deletionTimestamp"`
	} `json:"metadata"`
	Spec json.RawMessage `json:"spec"`
}

func viewParams(object json.RawMessage) (view paramsView, err error) {
	if len(object) == 0 {
		return view, nil
	}
	if err := json.Unmarshal(object, &view); err != nil {
		return view, fmt.Errorf("decoding the IngressClassParams: %w", err)
	}
	return view, nil
}

func cidrFaults(cidrs []string) (faults []string) {
	for i, text := range cidrs {
		prefix, err := netip.ParsePrefix(text)
		switch {
		case err != nil:
			faults = append(faults, fmt.Sprintf("spec.inboundCIDRs[%d], value %.60q: must be a CIDR such as 10.0.0.0/8", i, text))
		case prefix != prefix.Masked():
			faults = append(faults, fmt.Sprintf("spec.inboundCIDRs[%d], value %q: has host bits, must be %s", i, text, prefix.Masked()))
		}
	}
	return faults
}

func subnetFaults(subnets *ingressapi.Subnets) (faults []string) {
	if subnets == nil {
		return nil
	}
	if (len(subnets.IDs) == 0) == (len(subnets.Tags) == 0) {
		faults = append(faults, "spec.subnets: set either ids or tags")
	}
	faults = append(faults, twice("spec.subnets.ids", subnets.IDs)...)
	for _, key := range slices.Sorted(maps.Keys(subnets.Tags)) {
		field := fmt.Sprintf("spec.subnets.tags[%.60s]", key)
		if len(subnets.Tags[key]) == 0 {
			faults = append(faults, field+": must have a value")
		}
		faults = append(faults, twice(field, subnets.Tags[key])...)
	}
	return faults
}

func twice[T ~string](field string, values []T) (faults []string) {
	known := map[T]bool{}
	for _, value := range values {
		if known[value] {
			faults = append(faults, fmt.Sprintf("%s, value %.60q: is listed twice: list it once", field, string(value)))
		}
		known[value] = true
	}
	return faults
}
