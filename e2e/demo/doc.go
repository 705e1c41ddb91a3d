// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Command demo shows what targetgate is for, on one machine: it rolls the same web application twice at the same time,
// once with targetgate's readiness gates and once without, under load, and shows what became of the requests.
//
//	main.go      flags, and the order of things
//	scenario.go  test bed, two apps, load, two rollouts, and all that was seen of them
//	watch.go     the pods as the API server shows them: address, version, when the gate opened
//	timeline.go  from what was seen to the moments of each pod (pure)
//	figures.go   from what was seen to counts and times (pure)
//	terminal.go  both rollouts side by side as text
//	page.go      both rollouts as a picture: geometry here, HTML in page.html.tmpl
//
// Both apps have targetgate register and deregister their pods. The gated one's namespace has the label that asks for
// gates, and its pods sleep before they stop; the plain one is as most clusters have it. The exit status is 0 only when
// the gated rollout lost no request and the plain one lost some: anything else would prove nothing.
package main
