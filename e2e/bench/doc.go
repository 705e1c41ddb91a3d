// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Command bench measures targetgate on the test bed and sets what it finds beside the goals and beside what
// aws-load-balancer-controller (the incumbent) was measured to do on the same kind of bed.
//
//	main.go         flags, and the order of things
//	scenario.go     what is run: sizes, sleeps, load
//	expectations.go the goals, and the incumbent's figures
//	stage.go        a test bed with apps on it; waiting for them
//	rollout.go      a rolling update of all apps of a bed at once, and its figures
//	growth.go       many pods deployed at once, then kill -9 and restart, and the figures of both
//	admission.go    pods reviewed with more and more bindings, and the figures of that
//	reviewer.go     posts reviews as API servers do
//	watch.go        the pods as the API server shows them, with the time each change arrived
//	roster.go       from what the watch showed to counts and times (pure)
//	measure.go      from pods, journal and calls to delays (pure)
//	proc.go         CPU and memory of targetgate and of the machine, from /proc
//	report.go       figures and their JSON
//	table.go        figures as text
//	progress.go     what happens now
//
// Every scenario has a bed of its own, in real time: 40 ms for each AWS call, AWS's own limits (4 register and deregister
// calls a second, burst 20; 50 describe calls, burst 200), health checks every 5 s of which one makes a target healthy,
// 1 to 3 s from registration until the load balancer knows of a target, and requests sent on for 4 s after
// deregistration. Deployments surge by 25 % and have no pod unavailable.
//
// # What is measured how
//
// All times are taken in this process, which runs load balancers, nodes and a watch on pods of its own. The times that
// Kubernetes writes into conditions are whole seconds, and are not used.
//
//	healthy -> gate open       from the journal of the load balancer (the health check that makes the target healthy)
//	                           until the watch shows all readiness gates of the pod True. Its two parts meet where the
//	                           first DescribeTargetHealth has been answered that can have told of it
//	pod deleted -> deregistered  from the watch's first sight of the deletion until DeregisterTargets has been answered
//	rollout takes              from the patch of the Deployments until the last new pod is Ready and the last old one
//	                           deleted, as `kubectl rollout status` waits; the pods' way out is not in it
//	AWS calls                  from the patch until all old pods are gone and some seconds more; of Describe calls also
//	                           the most in any second, and the mean until the old pods are gone
//	failed requests            all but 200, of an open loop that goes on until after the last old pod is gone; none is
//	                           sent again
//	CPU                        user and system time of targetgate, from the patch until the old pods are gone; in a
//	                           growth run from its start until all pods are Ready
//	peak memory                the most of resident memory (VmHWM) in the life of the process; in a growth run also what it
//	                           was before the first pod was deployed
//	machine busy               the share of all cores that was used, by anybody. Near 100 % delays are those of the
//	                           machine: control plane, nodes, load balancers and targetgate share it
//	CPU per review             user and system time of targetgate for 10,000 reviews of a pod of 10 kB, by their number.
//	                           16 are posted at a time, over HTTP/1.1 as API servers do. All bindings are in the
//	                           pod's namespace
//	review, 99 %               from the post of one of these until its answer has been read
//	restart                    from the start of the process after a kill -9 until it is ready and has read every
//	                           target group. Calls are counted until 10 s later
//
// Each growth run is in two shapes: each binding has a namespace of its own, or all have one together (-in-one).
//
// Pods of a growth run have no readiness probe, as thousands of probes a second would be the load and not the
// scenario; health checks by load balancers stay as they are. For reviews AWS's limits are lifted, so that the bindings are
// settled before the first one.
//
// # What misses its goal, and why
//
// 50 x 10 pods, calls and time: a wave of three pods becomes healthy over 5 s, the pause between health checks, and takes three
// old ones away one by one. One call for each wave each way is 400, the goal, and would have the first of the three wait for
// 5 s, where 4 is the goal. targetgate waits 3.2 s at most; those that leave later are a call of their own. That wait is also
// the median from deletion to deregistration: a shorter one has more calls stand in the line. The calls are the time: 4 a
// second, after the burst. The slower the machine, the further apart a wave's pods are, and the more calls.
//
// 5,000 pods, gates: at their goals in most runs. The machine is busy to 100 %, most of it the API server, and the longest wait is
// for it. In a build that printed it, 7 ms passed in the median from the answer that told of a healthy target until the patch
// of its pod was sent.
//
// 5,000 pods, memory: before the first pod targetgate takes 45 MiB, of which 34 are the program itself. A pod's copy in
// controller-runtime's cache, stripped to what is read, its places in our indexes and its endpoint take more than the
// 2.5 kB that 70 MiB leave for each, with room for a garbage collector that lets the heap double. With GOGC=50 it is 92 to
// 95 MiB, for a sixth more of CPU.
//
// CPU, of both: what grows with the pods is watching them, which a replica that does not lead does as well, one review,
// one patch and one event for each, and AWS's calls. Such a replica, started beside the first one, took 4.4 s in a run of the
// rush, the first deployment included: more than the goal of 4 s, by watching alone. In profiles of either our own passes were
// 17 %: with none at all the goals would be missed.
//
// A goal that is missed is a figure like others: the exit status is 0. It is 1 when a scenario could not be run to its end.
package main
