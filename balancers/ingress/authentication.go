// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package ingress

import (
	"fmt"
	"strings"
)

// The annotations of who may pass and of changed requests. None of them is built: a member that needs one is held, so that nothing is
// served that the user wants to be protected.
const (
	authType      = "auth-type"
	jwtValidation = "jwt-validation"
	mutualAuth    = "mutual-authentication"
	transforms    = "transforms."
)

// checkAccess is a fault if requests that go to these targets are to be authenticated. The Service says so before the Ingress if it is the
// only one.
func (r *reading) checkAccess(targets []Target) error {
	fault := Fault{Annotation: Prefix + authType, Value: r.annotations()[Prefix+authType]}
	if len(targets) == 1 && targets[0].ServiceName != "" {
		if service := r.service(targets[0].ServiceName); service != nil {
			if value, ok := service.Annotations[Prefix+authType]; ok {
				fault.Object, fault.Value = "Service "+service.Namespace+"/"+service.Name, value
			}
		}
	}
	if fault.Value == "" || fault.Value == "none" {
		return nil
	}
	fault.Reason = "authentication is not supported: the Ingress is left as it is in AWS, never served without it"
	return fault
}

// checkUnsupported holds the member if it asks for what would be served open without it.
func (r *reading) checkUnsupported() {
	r.fail(r.checkAccess(nil)) // also of actions that forward nothing
	if value := r.annotations()[Prefix+jwtValidation]; value != "" {
		r.fail(Fault{
			Annotation: Prefix + jwtValidation, Value: value,
			Reason: "the validation of tokens is not supported: the Ingress is left as it is in AWS, never served without it",
		})
	}
	value, set := r.annotations()[Prefix+mutualAuth]
	if !set {
		return
	}
	modes, err := parseJSON[[]struct{ Mode string }](value)
	fault := Fault{Annotation: Prefix + mutualAuth, Value: value}
	if err != nil {
		fault.Reason = err.Error()
		r.fail(fault)
	}
	for _, entry := range modes {
		if !strings.EqualFold(entry.Mode, "off") {
			fault.Reason = fmt.Sprintf("mode %.20q is not supported: the Ingress is left as it is in AWS, never served without it", entry.Mode)
			r.fail(fault)
		}
	}
}

// checkTransforms is a fault if requests of that backend are to be changed.
func (r *reading) checkTransforms(service string) error {
	name := Prefix + transforms + service
	value, ok := r.annotations()[name]
	if !ok {
		return nil
	}
	return Fault{Annotation: name, Value: value, Reason: "transforms are not supported: the Ingress is left as it is in AWS"}
}
