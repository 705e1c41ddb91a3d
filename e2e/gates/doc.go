// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Package gates tests when a pod's gate opens, and when it stays closed: never before its own target is healthy, and never for
// good where nobody can make the target healthy. What users are told meanwhile is tested with it: conditions, events, explain.
//
// Its bed runs ten times faster than AWS. Tests restart targetgate with other flags, have calls for their own target groups
// fail, and run side by side where they share nothing, as they spend their time waiting.
//
// Each way in which a gate could stick, and its test:
//
//	the binding is being deleted, and AWS fails     TestGateThatWaitsInVainOpens
//	the binding is gone, or never was               TestGateThatWaitsInVainOpens
//	the binding registers nodes                     TestGateThatWaitsInVainOpens
//	the binding was never in force                  TestGateThatWaitsInVainOpens
//	the Service selects other pods                  TestGateThatWaitsInVainOpens
//	the pod has other labels                        TestGateThatWaitsInVainOpens
//	no load balancer has the target group           TestGateThatWaitsInVainOpens; waits, if users say so: TestGatesFollowFlags
//	the Service or its port is gone                 TestGatesFollowFlags
//	the target is never healthy                     waits: rollouts.TestHealthCheckThatComesLateHoldsTheGate;
//	                                                --readiness-timeout: TestGatesFollowFlags
//	the target is refused, or one too many          waits, and says why: TestOneRefusedTargetOf200IsNamedAndTheOthersAreRegistered,
//	                                                TestTargetsBeyondTheQuotaWaitUntilItIsRaised
//	AWS cannot be asked, for one group, or for all  TestGateOfUnreadableGroupWaits; faults.TestRolloutSurvivesAWSOutage
//	AWS leaves targets out of its answers           TestGateOfUnreadableGroupWaits; faults.TestRolloutSurvivesAWSOutage
//	targetgate ends, and comes back                 rollouts.TestGateStaysClosedWithoutTargetgate,
//	                                                faults.TestKilledAfterAnyCallLosesNothing
//	the pod is not in the cache yet                 package targets, TestRegistrarKeepsTargetOfPodThatCacheDoesNotShow
//	the pod has no gate, as it came too early       TestPodsWithoutGateAreToldOfUntilTheyAreReplaced
//
// Each way in which a gate could open by mistake, and its test:
//
//	the address is another pod's before, healthy     TestReusedAddressDoesNotInheritHealth, TestGateWaitsForItsOwnTarget
//	the name is another pod's before, healthy        TestConditionIsNotWrittenToPodOfSameName, TestGateWaitsForItsOwnTarget
//	AWS shows the old health for a while             TestGateWaitsForItsOwnTarget
//	targetgate ends between registration and health  faults.TestKilledAfterAnyCallLosesNothing
//	one of the pod's bindings is satisfied           TestGateWaitsForItsOwnTarget
//	the target's zone is not enabled, so unused      TestGateWaitsForItsOwnTarget
//	the binding goes and comes back in a rollout     TestGateWaitsForItsOwnTarget
//	health cannot be read, or only of others         TestGateOfUnreadableGroupWaits
//	the caches are behind each other                 targets/gates_test.go: hold-offs
//	nobody opens it                                  rollouts.TestGateStaysClosedWithoutTargetgate
package gates
