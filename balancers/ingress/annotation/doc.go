// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Package annotation knows the annotations of Ingresses and Services, one by one: name, meaning, scope and default, and what their values
// may be. It knows no Ingress, and no stack: what the annotations of an Ingress ask for together is built in package ingress.
//
//	table.go        the list of annotations of the Application Load Balancer; a new one begins here, and package reading asks for it
//	tablefront.go   the list of annotations of a Network Load Balancer in front of the Application Load Balancer
//	annotation.go   Annotation, a row of these: name, scope, how a group's values combine; looks up, reads and checks annotations
//	values.go       parsers of plain values: texts, numbers, choices, lists, ARNs, CIDRs
//	pairs.go        parsers of key=value pairs and of JSON, as far as their length allows
//	texts.go        names of values that other code compares with, such as internal and traffic-port
//	attributes.go   attributes of load balancers, listeners and target groups: the keys that are known, which values these take, and AWS's
//	                defaults
//	listenports.go  the JSON of listen-ports
//	action.go       the JSON of actions
//	condition.go    the JSON of conditions
//	transform.go    the JSON of transforms
//	auth.go         the JSON of auth-idp-cognito, auth-idp-oidc and jwt-validation
//	mutualauth.go   the JSON of mutual-authentication
//
// The two tables are the only lists of annotations that begin with alb.ingress.kubernetes.io/. The few other annotations of Ingresses and
// their classes are in membership.
package annotation
