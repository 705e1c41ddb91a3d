// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Package frontend is what a pass knows of the objects that ask for load balancers: Frontend, in frontend.go, says what the objects of one
// kind ask for. balancers/ingress/objects is the only front end yet. A pass asks it in this order:
//
//	Members    which objects belong to the group, and which did
//	Begin      reads what the members say; Needs is what has to be looked up in AWS
//	Build      the stack that they want, and what is wrong with each
//	StatusFor  what each status is to say, once the steps are done
//
// # Tried on paper
//
// Which method answers for the next kinds, and what must change before. Services (Network Load Balancers):
//
//   - Guests on the load balancer of a host: Members. The group has the host's name; a guest names the host.
//   - TCP and UDP on one number: Build. It is one listener, and one target group that both ports share.
//   - A class that no longer matches: Members. The Service is Inactive while it has the finalizer: its status is emptied, and what was made
//     for it goes.
//   - To change: a member is one port, as a port is what is held when it cannot be built. So several members have the same Object, and
//     finalizers, statuses and events have to be those of objects.
//
// Gateways:
//
//   - Parameters merged from class and Gateway: Members, in the Details of the Gateway.
//   - Routes of other namespaces, ListenerSets: Members, each with its Fault if it may not attach. Build goes by their Details.
//   - To change: routes are members without finalizer, as only the Gateway is kept until all is gone. A Member has to say so.
//   - To change: the status of five kinds says what is wrong with each object. StatusFor has to be given the faults of the pass.
//
// Proxies on premises. Their front end is that of Ingresses, with another Build; what follows the build is not AWS:
//
//   - load and wanted are Members, Begin and Build: what a pass knows of members.
//   - objects and apply take the place of view, plan and applier: what a pass knows of the picture. They are a provider's, a second seam,
//     which is drawn when that provider comes.
//   - report is StatusFor, with addresses in place of load balancers: what a pass knows of the outcome.
package frontend
