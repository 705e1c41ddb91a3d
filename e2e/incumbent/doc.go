// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Package incumbent stands in for aws-load-balancer-controller where targetgate works beside it. It makes the writes of that
// controller's binding controller, in its order and with its back-off, to a real API server as that controller's user, and to AWS by
// the SDK with an access key of its own. It knows nothing of targetgate and does nothing for it.
//
//	incumbent.go    its manager, what wakes it, and how long it backs off
//	pass.go         a pass over one binding: finalizer, checkpoint, targets, conditions, checkpoint, generation
//	endpoints.go    the endpoints that it wants as targets
//	targets.go      its calls, and what it remembers of target groups for five minutes
//	conditions.go   the conditions of pods' gates
//	provisioner.go  what its Ingress controller does with bindings
//
// It lacks what no test needs: targets of type instance, shared target groups, rules of security groups, client-side limits of AWS
// calls, webhooks, and the jitter by which it looks at settled bindings again. It reads pods from the API server: by a cache, which may
// not show a condition that the pass before has written, it left a gate closed that it had meant to open, and wrote a checkpoint.
package incumbent
