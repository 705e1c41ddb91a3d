// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Command bench measures targetgate on the test bed, and prints the goals and the figures of aws-load-balancer-controller (the incumbent)
// beside. It does not measure the incumbent: those figures are constants, which another bench measured of v3.5.0 on the same kind of bed.
//
//	main.go         flags, and the order of the steps
//	scenario.go     the scenarios: sizes, sleeps, load
//	expectations.go the goals, and the incumbent's figures
//	stage.go        a test bed with apps on it; waiting for them
//	rollout.go      a rolling update of all apps of a bed at once, and its figures
//	growth.go       many pods deployed at once, then kill -9 and restart, and the figures of both
//	admission.go    pod reviews with more and more bindings, and their figures
//	estate.go       Ingresses on a bed: what they lead to, what is left of them
//	ingress.go      the scenarios with Ingresses; broken.go that with a broken one, groups.go that with many groups,
//	                turns.go that with one Ingress beside many of another namespace
//	counted.go      targetgate's calls while something is done with Ingresses
//	unrelated.go    what pods that no binding concerns cost; crowd.go makes such pods
//	reviewer.go     posts reviews like an API server
//	roster.go       turns what the API server shows of pods into counts and times (pure)
//	measure.go      turns pods, journal and calls into delays (pure)
//	proc.go         CPU and memory of targetgate and of the machine, from /proc
//	report.go       figures and their JSON
//	table.go        figures as text
//
// Every scenario has its own test bed, in real time: 40 ms per AWS call, AWS's limits (4 register and deregister calls a
// second, burst 20; 50 describe calls, burst 200), health checks every 5 s of which one makes a target healthy, 1 to 3 s
// from registration until the load balancer knows a target, and 4 s of further requests after deregistration. Deployments
// surge by 25 % and have no unavailable pods.
//
// # How each figure is measured
//
// This process takes all times: it runs the load balancers, the nodes and its own watch on pods. The times that Kubernetes
// writes into conditions are whole seconds, and are not used.
//
//	healthy -> gate open       from the health check that makes the target healthy (in the load balancer's journal) until
//	                           the watch shows all readiness gates of the pod True. Its two parts meet at the answer of
//	                           the first DescribeTargetHealth that can show the target healthy
//	pod deleted -> deregistered  from the first event of the deletion in the watch until DeregisterTargets has been answered
//	rollout takes              from the patch of the Deployments until the last new pod is Ready and the last old one
//	                           deleted, as `kubectl rollout status` waits; without the termination of the pods
//	AWS calls                  from the patch until some seconds after all old pods are gone; for Describe calls also the
//	                           maximum in any second, and the mean until the old pods are gone
//	failed requests            all answers but 200, of an open loop that runs until after the last old pod is gone; without
//	                           retries
//	CPU                        user and system time of targetgate, from the patch until the old pods are gone; in a
//	                           growth run from its start until all pods are Ready
//	peak memory                maximum resident memory (VmHWM) of the process; in a growth run also its value before the
//	                           first pod was deployed
//	machine busy               the share of all cores in use, by all processes. Near 100 %, the machine causes the delays:
//	                           control plane, nodes, load balancers and targetgate share it
//	CPU per review             user and system time of targetgate for 10,000 reviews of a pod of 10 kB, divided by their
//	                           number. 16 are posted at a time, over HTTP/1.1 like API servers. All bindings are in the
//	                           pod's namespace
//	review, 99 %               from posting one of these reviews until its answer has been read
//	restart                    from the start of the process after a kill -9 until it is ready and has read every
//	                           target group. Calls are counted until 10 s later
//
//	name in the status         from the request that creates the Ingress until a list of all shows its load balancer
//	right                      from the change until host and paths of the Ingress lead, by the rules that the load balancer's API
//	                           shows, to target groups of their Services in which both pods are registered
//	one of another namespace   the same two figures, of one Ingress that is created 30 s after 300 of another namespace
//	all gone                   from the first deletion until no load balancer, target group or security group of a stack is left
//	AWS calls, of Ingresses    all calls of targetgate, those of the registrar as well, until AWS was not called for 6 s. The
//	                           progress lists them by operation, and by the code with which AWS refuses them
//
// For Ingresses a load balancer is active after 60 s, and its interfaces are released 15 s after its deletion. In ingress-hundred,
// ingress-groups and ingress-turns there are limits: 50 describe calls a second, and of each kind that changes something 4 in the first, as
// the incumbent had it, and 3 in the others, which AWS publishes for changes of settings.
//
// Each growth run has two variants: each binding in its own namespace, or all in one (-in-one).
//
// Pods of a growth run have no readiness probe, because thousands of probes a second would dominate the load; the load
// balancers' health checks stay. For reviews there are no AWS limits, so that the bindings are settled before the first
// review.
//
// # Which goals are missed, and why
//
// 50 x 10 pods, calls and time: the three pods of a wave become healthy within 5 s, the interval of health checks, and each lets one old
// pod be deleted. One call per wave and direction would make 400 calls. Pods sleep for 10 s here, and the load balancer needs 4 of these: a
// deregistration can wait for 4.5 s, less the part of a second that the API server cuts off the time of the deletion. So some waves need a
// second call. The number of calls determines the time: 4 a second, after the burst. While calls were sent half a second before their
// deadlines, four runs took 429 to 444 calls and 106 to 110 s. Now they are sent a second before (budget.CallTime). On a machine half as
// fast, two runs of each took 454 and 455 calls, 110 and 112 s before; 475 and 487 calls, 114 and 117 s now.
//
// 50 x 10 pods, deregistrations: on that machine 25, 12 and 7 came too late for SIGTERM in three of six runs, while late registrations left
// them 8 of 20 tokens. Now these leave them 12. Two runs before took 496 and 470 calls, 118 and 115 s, with a least margin of -1.1 and
// 0.4 s; two now took 471 and 471 calls, 117 and 117 s, with 1.4 and 1.5 s. If tokens did not count as short while registrations are late,
// the health of targets would be read more often: 1,115 and 1,080 calls, instead of 784 to 806.
//
// 50 x 10 pods, registrations: 4 calls a second for 50 Deployments are a registration and a deregistration for each every 25 s.
// A new pod spends some 8 s of these on starting, on its health check and on its gate. It waits for the rest, in whichever order
// the calls go: a median of 9 s needs fewer calls, or gates that open later, as the incumbent's do.
//
// 5,000 pods, gates: at their goals in most runs. The machine is 100 % busy, mostly with the API server, and most of the delay
// is waiting for it. A build that printed it took a median of 7 ms from the answer that showed a healthy target until it sent
// the patch of its pod.
//
// 15,000 pods in 500 bindings, two runs (-scenario growth-15000,growth-15000-in-one): all Ready after 339 and 362 s, with the
// machine 99 % busy. Gates opened 1.7 s after the health check in the median, 10.5 s at most. That took 7,436 and 7,943 AWS calls, 51 and
// 55 s of targetgate's CPU, and 215 MiB at the most; nothing was throttled. After kill -9 targetgate had read all 500 target groups within
// 17.5 s, with one call each, and registered and deregistered nothing. At rest there are 80 calls in 10 s soon after the start, 48 later:
// each group is read once each --drift-interval.
//
// All bindings in one namespace: with 2,000 pods there is no difference, in one run and one hour: gates open after 1.3 s in the
// median and 3.6 s at most in a namespace each, after 1.5 and 4.4 s in one; 348 and 322 calls; 15 s of CPU in both. With 5,000
// pods gates take 2.6 and 7.6 s in a namespace each, 4.3 and 16 s in one, with as much CPU of targetgate. Most of that is after
// targetgate knows of a healthy target, when its patch waits for the API server; that was not profiled.
//
// 5,000 pods, memory: of the 111 MiB 42 are pages of the program file, which count from their first use on; before the first pod it
// is 53 MiB in all. Some 30 are what lives in the heap: a pod in controller-runtime's cache is 1,240 bytes of Go types even when
// all its fields are empty. The rest is what the garbage collector lets the heap grow by. In an
// earlier build, GOGC=50 took 20 MiB less, for a sixth more CPU.
//
// CPU, in both: what grows with the pods is the watch on pods, which a replica that does not lead has as well, one review, one
// patch and one event per pod, and the AWS calls. In a profile of the rush, passes took 16 %, reading watches 10, AWS calls 7,
// patches of pods 5, the garbage collector 7 and the Go scheduler 9: no part is large enough to reach the goal without it.
//
// Ingresses, calls: of each new target group the registrar reads settings, attributes and, three times, health: 10 of the 17 calls for a
// group's member with two paths. After a restart each load balancer takes five calls, for its attributes, its listeners with theirs, rules
// and tags, and each target group one, for its health. While a member is broken, the calls are those for what the others change.
//
// One Ingress and 100, deletion: security groups are refused until AWS has released the network interfaces, and are tried again every
// 10 s. Shorter pauses would be quicker for one load balancer. With 100, they would take calls from those that can be deleted. No Ingress
// waits for that: its finalizer is gone as soon as its load balancer is.
//
// 100 load balancers, time: creations and deletions have 3 calls a second, as AWS publishes for changes of settings; the goal takes
// 4. Nothing is throttled.
//
// 1,000 Ingresses in 100 groups: their names were there after 44 s in the median, the last one was right after 727 s. That is what 2,200
// creations take at 3 a second. targetgate took 127 MiB meanwhile, and 137 MiB after a restart.
//
// A missed goal is a figure like the others: the exit status is 0. It is 1 if a scenario could not run to its end.
package main
