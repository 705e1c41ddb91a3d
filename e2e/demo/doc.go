// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Command demo shows what targetgate is for, on one machine: it rolls the same web application twice at the same time,
// once in a namespace with the label and once in one without, under load, and shows what became of the requests.
//
//	main.go      flags, and the order of things
//	scenario.go  test bed and two apps
//	acts.go      load, two rollouts, and all that was seen of them; and that once more with a bad version
//	ingress.go   the load balancer of an Ingress, which is changed under load
//	roster.go    the pods as the API server shows them: address, version, when the gate opened
//	timeline.go  from what was seen to the moments of each pod (pure)
//	figures.go   from what was seen to counts and times (pure)
//	lanes.go     from the moments of pods to counts and remarks (pure)
//	explain.go   from the counts to words
//	terminal.go  both apps side by side as text
//	page.go      both apps as a picture, by page.html.tmpl; geometry.go says where things are
//
// Both apps have targetgate register and deregister their pods, and neither has a preStop in its manifest. The gated one's
// namespace has the label, for which targetgate adds a readiness gate and a preStop sleep to its pods. In the first act the
// new version works, and the sleep makes the difference, with the early deregistration that it gives time to. In the second the new
// version is Ready but not accepted by the load balancer, and the gate makes the difference. The exit status is 0 only
// when gated lost no request and plain lost some, in both acts: anything else would prove nothing. In the third act targetgate has made a
// load balancer of an Ingress, and no request may be lost while that is changed.
package main
