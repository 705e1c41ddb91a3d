// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import "k8s.io/utils/ptr"

// The figures. A figure of a name means the same in every scenario.
const (
	gateMedian      = "healthy -> gate open, median"
	gateNinety      = "healthy -> gate open, 90 %"
	gateMax         = "healthy -> gate open, max"
	gateRead        = "  healthy -> told targetgate, median"
	gateReadMax     = "  healthy -> told targetgate, max"
	gateWritten     = "  told targetgate -> gate open, median"
	gateWrittenMax  = "  told targetgate -> gate open, max"
	gatesEarly      = "gates opened before healthy"
	leftMedian      = "pod deleted -> deregistered, median"
	leftMax         = "pod deleted -> deregistered, max"
	leftNever       = "pods deleted, not deregistered"
	leftMargin      = "  margin to SIGTERM, least"
	leftLate        = "pods deregistered too late for SIGTERM"
	enteredMedian   = "containers ready -> registered, median"
	enteredMax      = "containers ready -> registered, max"
	took            = "rollout takes"
	callsAll        = "AWS calls"
	callsTargets    = "register and deregister calls"
	callsDescribe   = "describe calls"
	describePeak    = "describe calls a second, most"
	describeMean    = "describe calls a second, mean"
	callsThrottled  = "throttled calls"
	requestsAll     = "requests"
	requestsFailed  = "failed requests"
	cpu             = "CPU of targetgate"
	memory          = "peak memory of targetgate"
	busy            = "machine busy"
	readyAfter      = "all pods Ready after"
	cpuReady        = "CPU until all are Ready"
	callsSettled    = "AWS calls in 10 s when settled"
	caughtUp        = "restart: caught up after"
	againHealth     = "restart: DescribeTargetHealth calls"
	againDescribe   = "restart: other describe calls"
	againRegister   = "restart: RegisterTargets calls"
	againDeregister = "restart: DeregisterTargets calls"
	memoryEmpty     = "  of it before the first pod"
	memoryRestarted = "restart: peak memory"
	overLeast       = "created: longer than that, per cent"
	podSize         = "size of a pod"

	restartQuiet  = "restart: quiet after"
	restartCalls  = "restart: AWS calls"
	restartWrites = "restart: calls that change something"

	// Of each of these there is one for every number of bindings; see admissionFigure.
	cpuPerReview  = "CPU per review"
	reviewLatency = "review, 99 %"
)

// expectation is what to reach at most, and what the incumbent (v3.5.0) took when another bench measured it on the same kind of bed. Nil is
// unknown.
type expectation struct{ goal, incumbent *float64 }

func want(goal, incumbent float64) expectation { return expectation{ptr.To(goal), ptr.To(incumbent)} }

func wantOnly(goal float64) expectation { return expectation{goal: ptr.To(goal)} }

func knownOnly(incumbent float64) expectation { return expectation{incumbent: ptr.To(incumbent)} }

// always are the expectations that do not depend on the scenario.
var always = map[string]expectation{
	gatesEarly:     wantOnly(0),
	leftNever:      wantOnly(0),
	leftLate:       wantOnly(0),
	callsThrottled: wantOnly(0),
}

// expectations are by scenario and figure.
var expectations = map[string]map[string]expectation{
	"one": {
		gateMedian: want(0.7, 10.5),
		gateMax:    want(1.5, 12.0),
		took:       want(40, 75.7),
		callsAll:   want(60, 74),
	},
	"bare": {
		requestsAll:    knownOnly(40_102),
		requestsFailed: want(0, 1_682),
	},
	"load": {
		requestsAll:    knownOnly(459_119),
		requestsFailed: want(0, 1_050),
	},
	"rush": {
		leftMedian:    knownOnly(12.2),
		leftMax:       knownOnly(21.5),
		enteredMedian: want(9, 8.8),
		enteredMax:    want(16, 20),
		gateMedian:    want(1, 7.4),
		gateNinety:    want(2, 15.3),
		callsTargets:  want(410, 479),
		callsDescribe: knownOnly(392),
		describePeak:  wantOnly(25),
		took:          want(102, 117),
		cpu:           want(5.8, 8.4),
	},
	"ingress": {
		"created: name in the status, median": want(1, 1.7),
		"created: right, last":                want(1.5, 2),
		"created: AWS calls":                  want(30, 45),
		restartCalls:                          want(8, 18),
		restartWrites:                         wantOnly(0),
		"deleted: load balancers gone":        want(0.3, 0.3),
		"deleted: all gone":                   want(17, 15.5),
		"deleted: AWS calls":                  want(18, 32),
		"HTTPS: name in the status, median":   want(1, 1.9),
		"HTTPS: right, last":                  want(1.5, 2.2),
		"HTTPS: AWS calls":                    want(32, 47),
		"second host with TLS: right":         want(0.5, 1.2),
		"second host with TLS: AWS calls":     want(6, 27),
		"certificate issued later: right":     want(15, 63),
	},
	"ingress-group": {
		"created: name in the status, median": want(3, 15),
		"created: right, last":                want(12, 35),
		"created: AWS calls":                  want(330, 626),
		"one path changed: right":             want(0.5, 7.2),
		"one path changed: AWS calls":         want(4, 115),
		"one member deleted: right":           want(1, 13.5),
		"one member deleted: AWS calls":       want(8, 216),
		"one member added: right, last":       want(1, 13.9),
		"one member added: AWS calls":         want(12, 222),
		restartQuiet:                          want(3, 9.6),
		restartCalls:                          want(30, 124),
		restartWrites:                         wantOnly(0),
	},
	"ingress-apart": {
		"created: name in the status, median": want(3, 143),
		"created: right, last":                want(12, 32),
		"created: AWS calls":                  want(330, 789),
		"created: CPU of targetgate":          want(2, 4.7),
	},
	"ingress-broken": ofFaults(),
	"ingress-hundred": {
		"created: name in the status, median": want(15, 47),
		"created: right, last":                want(96, 98),
		"created: AWS calls":                  want(1300, 2525),
		"created: throttled calls":            want(0, 151),
		idleCalls:                             wantOnly(0),
		"deleted: load balancers gone":        want(30, 418),
		"deleted: all gone":                   want(60, 435),
		"deleted: AWS calls":                  want(700, 2107),
		"deleted: refused calls":              knownOnly(702),
	},
	"ingress-groups": {
		"created: throttled calls": wantOnly(0),
		overLeast:                  wantOnly(10),
		memoryRestarted:            wantOnly(150),
		memory:                     wantOnly(150),
		restartWrites:              wantOnly(0),
	},
	"ingress-turns": {
		otherNamed: wantOnly(3),
		otherRight: wantOnly(10),
	},
	"ingress-thousand": {
		idleCalls:                     wantOnly(0),
		"one path changed: right":     wantOnly(0.5),
		"one path changed: AWS calls": wantOnly(4),
		restartWrites:                 wantOnly(0),
	},
	"admission": {
		admissionFigure(cpuPerReview, 1):    want(0.35, 1.7),
		admissionFigure(cpuPerReview, 100):  want(0.35, 2.7),
		admissionFigure(cpuPerReview, 1000): wantOnly(0.35),
		admissionFigure(reviewLatency, 1):   knownOnly(77),
		admissionFigure(reviewLatency, 100): knownOnly(134),
	},
	"growth-5000": {
		memory:          want(85, 95),
		cpuReady:        want(12, 21),
		gateMedian:      want(2, 51),
		gateMax:         want(5, 66),
		readyAfter:      want(60, 121),
		callsSettled:    wantOnly(0),
		caughtUp:        wantOnly(10),
		againHealth:     wantOnly(growthBindings),
		againRegister:   wantOnly(0),
		againDeregister: wantOnly(0),
	},
	"growth-5000-in-one": {
		memory:          want(85, 99),
		cpuReady:        want(14, 29),
		gateMedian:      want(2, 68),
		gateMax:         want(5, 74),
		readyAfter:      want(65, 187),
		callsTargets:    want(250, 113),
		callsSettled:    wantOnly(0),
		caughtUp:        wantOnly(10),
		againHealth:     wantOnly(growthBindings),
		againRegister:   wantOnly(0),
		againDeregister: wantOnly(0),
	},
}

// ofFaults are the same for each fault of one member. The incumbent changed nothing while there was one, but for a missing Service.
func ofFaults() map[string]expectation {
	broken := map[string]expectation{}
	for fault := range faults {
		broken[fault+": change of another"] = wantOnly(1)
		broken[fault+": new member"] = wantOnly(1)
		broken[fault+": AWS calls in 28 s"] = want(10, 251)
	}
	return broken
}

// expected is what is known of a figure in a scenario.
func expected(scenario, figure string) expectation {
	if e, known := expectations[scenario][figure]; known {
		return e
	}
	return always[figure]
}
