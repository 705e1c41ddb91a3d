// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Package networking holds the end-to-end tests of inbound rules: load balancers reach pods and nodes only where the rules of the nodes'
// security group let them, and EC2's reads lag up to two seconds behind its changes.
//
// What is decided about a security group, and histories of faults, is tested in targets/networking and its folders. A test below without
// a prefix is there, one with the prefix e2e in this folder, one with targets or ec2 in that package.
//
// # What users of the incumbent hit, by their issues
//
//	N-1   all rules were revoked while pods churned  TestN1NothingIsRevokedFromAPartialPicture,
//	      (#4889, #3637, #2578)                      TestN1NothingIsRevokedWithoutTheListOfBindings,
//	                                                 TestN1RulesStayWhileMembersAreIncomplete,
//	                                                 TestHistoriesKeepWishedAndForeignRulesAndLeaveNoOthers,
//	                                                 e2e.TestWishedRulesAreNeverAbsentWhilePodsChurn
//	N-2   one broken binding ended all revoking      TestN2BrokenBindingBlocksOnlyItsPorts
//	      (#4896)
//	N-3   one bad source blocked all bindings        TestN3BadPeerFailsAlone, TestN3ThrottledCallIsNotSplit,
//	      (#3285, #3809)                             TestN3RefusedRulesTakeNoRoom,
//	                                                 e2e.TestBadSecurityGroupHurtsItsBindingOnly
//	N-4   clusters revoked each other's rules        TestN4TwoClustersShareASecurityGroup,
//	      (#3325, #2501, #2185, #2183)               e2e.TestTwoClustersShareTheNodesSecurityGroup
//	N-5   deletions stuck on a rule                  TestN5ReleaseWaitsForRulesToBeGone, TestN5ReleaseEndsAndNamesWhatIsLeft,
//	      (#2117, #1879, #2220, #3037, #4233, #4207) targets.TestBindingGoesAfterItsRules,
//	                                                 targets.TestBindingGoesWithoutItsRulesInTheEnd,
//	                                                 e2e.TestRulesLetTheLoadBalancerIn
//	N-6   "expected exactly one" in an event alone   TestChoiceOfTheSecurityGroup, TestN6AmbiguousSecurityGroupIsToldInTheState
//	      (#1181, #1897, #1594, #2902, #2922, #2948)
//	N-7   one pod without interface failed all       TestN7UnresolvedPodDoesNotStopTheOthers, TestNetworkInterfaceOfAMember
//	      (#2116, #1854, #2802, #4643, #4666)
//	N-8   ports that nobody asked for were open      TestN8ExactPortsWhileTheQuotaAllows, TestUnionMergesNoMoreThanItMust
//	      (#3460, #1731)
//	N-9   the quota of rules came as a surprise      TestN9QuotaIsCountedBeforeTheCall, TestQuotaOfAWSBelowTheSetting,
//	      (#2252, #3538, #4800, #2224)               TestGrantsBeyondTheQuotaAreHeldBackWithTheNumbers
//	N-10  drift was repaired after hours             TestN10DriftIsRepaired, e2e.TestRemovedRuleComesBack
//	      (#2515, #2800, #4607, #3988)
//	N-11  changes were lost, doubled, or made in     TestN11GrantPrecedesRevoke, TestRulesOfAMember,
//	      the wrong order (#3455, #3737, #1438,      TestMergedRuleStaysUntilAllExactOnesAreThere,
//	      #3087, #3639)                              TestRevokeIsCheckedAgainAfterTheGrants
//	N-12  nothing said which rules there are         TestN12StateNamesGroupsAndRules, e2e.TestRulesLetTheLoadBalancerIn
//	      (#2582)
//	N-13  no ports, IPv6 on the node's network,      TestN13EmptyPortsAndHybridNodes, TestNetworkInterfaceOfAMember,
//	      hybrid nodes; targets waited for rules     TestRulesOfAMember, targets.TestRulesAreNeverInTheWayOfTargets
//
// # What the incumbent's own tests cover
//
//	networking_manager             rules by peer, port and protocol   TestRulesOfAMember, TestNamedPortIsARuleForEachNumberThatAPodHas
//	                               union, restricted and not          TestUnionOfWishes
//	                               choice of the security group       TestChoiceOfTheSecurityGroup
//	                               garbage collection                 by record, not by tag: TestDecisionAboutASecurityGroup,
//	                                                                  TestN5ReleaseWaitsForRulesToBeGone
//	pod_eni_info_resolver,         kinds of nodes and addresses       TestNetworkInterfaceOfAMember
//	node_eni_info_resolver,        cache                              TestPlacesAreRememberedForATime
//	node_info_provider             calls in chunks                    ec2.TestReadingsAreSplitAndFollowPages,
//	                                                                  ec2.TestInterfacesAreFoundByAddress
//	                               failed calls, missing instances    TestFailedReadIsTheMembersError,
//	                                                                  ec2.TestReadingsLeaveOutWhatDoesNotExist
//	security_group_info            hash of a rule                     none: rules are values (ec2.TestRulesAreTheSameWhenReadAndWritten)
//	security_group_reconciler      grant, revoke, both, none          TestDecisionAboutASecurityGroup,
//	                                                                  TestRulesOfABindingAreGrantedAndRevoked
//	                               a failed grant blocks the revoke   of what lets the same in: TestRevocableRules
//	                               codes to read again for            ec2.TestErrorsOfChangesAreToldApart, TestRecordAfterCalls
//	                               at the quota revokes come first    never: TestN9QuotaIsCountedBeforeTheCall
//	security_group_resolver,       names of groups; groups of load    none: spec.networking has IDs; what balancers makes is
//	backend_sg_provider,           balancers; CIDRs of the VPC        tested in e2e/ingress
//	vpc_info_provider,
//	security_group_manager
//
// # What they do not
//
//	two processes, one of them of another cluster    e2e.TestTwoClustersShareTheNodesSecurityGroup
//	reads that lag, churn, kills                     e2e.TestWishedRulesAreNeverAbsentWhilePodsChurn
//	throttling, lost answers, kills at any call      TestHistoriesKeepWishedAndForeignRulesAndLeaveNoOthers
//	a take-over, whatever bindings there are         TestTakeOversChangeNothing, e2e.TestTakeOverOfRulesMakesNoCall
//	permissions                                      e2e.TestEveryPermissionInAWSIsUsed
package networking
