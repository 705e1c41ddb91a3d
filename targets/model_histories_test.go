// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package targets

import "time"

const ms = time.Millisecond

// modelHistories have failed once, as short as they got.
var modelHistories = map[string][]step{
	"a dead instance's Node object is deleted": {
		{op: "createService", a: 142, b: 377}, {op: "createBinding", a: 153, b: 129, wait: 1041 * ms},
		{op: "createPod", a: 823, b: 230, c: 245, wait: 545 * ms}, {op: "createPod", a: 178, b: 480, c: 713, wait: 524 * ms},
		{op: "wait", a: 29}, {op: "loseNode", a: 417}, {op: "wait", a: 29}, {op: "wait", a: 29},
	},
	"slices written by hand name their port": {
		{op: "createService", a: 354, b: 264}, {op: "createPod", a: 0, b: 218, c: 45, wait: 1767 * ms}, {op: "createBinding", a: 480, b: 141},
	},
	"a target group is deleted and its binding stays": {
		{op: "group", a: 288, b: 576}, {op: "createBinding", a: 808, b: 566},
	},
	"a target group is deleted and its binding is, too": {
		{op: "createBinding", a: 50, b: 538, wait: 2472 * ms}, {op: "createService", a: 914, b: 745, wait: 553 * ms},
		{op: "group", a: 506, b: 746, wait: 2732 * ms}, {op: "deleteBinding", a: 534},
	},
	"a group without load balancer, attributes denied": {
		{op: "createService", a: 149, b: 20}, {op: "createBinding", a: 274, b: 89, wait: 1416 * ms}, {op: "group", a: 162, b: 675},
		{op: "group", a: 438, b: 137}, {op: "createPod", a: 944, b: 965, c: 898},
	},
	"the record of a shared group is refused": {
		{op: "createService", a: 157, b: 975}, {op: "createBinding", a: 397, b: 616, wait: 2783 * ms}, {op: "wait", a: 25},
		{op: "writes", a: 603, b: 532, c: 54}, {op: "createPod", a: 34, b: 163, c: 68, wait: 2798 * ms}, {op: "wait", a: 29}, {op: "wait", a: 29},
	},
	"two live pods at one address": {
		{op: "createService", a: 563, b: 571, c: 185, wait: 0 * ms}, {op: "createPod", a: 872, b: 345, c: 30, wait: 0 * ms},
		{op: "createPod", a: 56, b: 816, c: 908, wait: 0 * ms}, {op: "createPod", a: 805, b: 909, c: 113, wait: 1514 * ms},
		{op: "createPod", a: 371, b: 494, c: 874, wait: 1134 * ms}, {op: "createPod", a: 590, b: 775, c: 721, wait: 501 * ms},
		{op: "createBinding", a: 114, b: 1, c: 948, wait: 2584 * ms},
		{op: "createPod", a: 880, b: 966, c: 971, wait: 1580 * ms}, {op: "createPod", a: 908, b: 557, c: 963, wait: 548 * ms},
		{op: "createTwin", a: 957, b: 898, c: 460, wait: 780 * ms},
	},
	"a node is ended after its Service's port has gone": {
		{op: "createBinding", a: 865, b: 298}, {op: "createService", a: 757, b: 773, wait: 20000 * ms},
		{op: "movePort", a: 580, b: 921, wait: 1650 * ms}, {op: "wait", a: 29}, {op: "markNode", a: 526, b: 336}, {op: "wait", a: 29},
	},
	"a record takes its time while pods leave": {
		{op: "createService", a: 834, b: 139, c: 435, wait: 0 * ms}, {op: "createPod", a: 836, b: 629, c: 753, wait: 0 * ms},
		{op: "createPod", a: 866, b: 556, c: 710, wait: 0 * ms}, {op: "createPod", a: 685, b: 831, c: 798, wait: 0 * ms},
		{op: "createPod", a: 78, b: 50, c: 419, wait: 0 * ms}, {op: "createBinding", a: 283, b: 433, c: 558, wait: 1358 * ms},
		{op: "createPod", a: 21, b: 250, c: 558, wait: 886 * ms}, {op: "createPod", a: 469, b: 750, c: 544, wait: 786 * ms},
		{op: "createPod", a: 420, b: 799, c: 886, wait: 742 * ms}, {op: "createPod", a: 683, b: 798, c: 966, wait: 19 * ms},
		{op: "createPod", a: 124, b: 170, c: 605, wait: 1925 * ms}, {op: "wait", a: 952, b: 158, c: 214, wait: 527 * ms},
		{op: "writes", a: 75, b: 909, c: 8, wait: 1772 * ms}, {op: "deletePod", a: 92, b: 663, c: 115, wait: 2732 * ms},
		{op: "deletePod", a: 135, b: 744, c: 221, wait: 1798 * ms},
	},
	"a target port that no pod has": {
		{op: "createService", a: 860, b: 334}, {op: "createBinding", a: 842, b: 871}, {op: "nameNoPort", a: 860, b: 2},
		{op: "createPod", a: 476, b: 382, c: 617, wait: 1630 * ms},
	},
	"a binding whose ARN AWS calls invalid is deleted": {
		{op: "group", a: 0, b: 1}, {op: "createBinding", a: 0, b: 5, wait: 5000 * ms}, {op: "deleteBinding", a: 0},
	},
	"a binding is created again while its cache is late": {
		{op: "createService", a: 89, b: 913, c: 496, wait: 0 * ms},
		{op: "createBinding", a: 610, b: 207, c: 292, wait: 2287 * ms},
		{op: "createPod", a: 536, b: 94, c: 783, wait: 574 * ms}, {op: "createPod", a: 977, b: 515, c: 873, wait: 933 * ms},
		{op: "wait", a: 342, b: 744, c: 355, wait: 363 * ms}, {op: "readyPod", a: 23, b: 894, c: 766, wait: 2656 * ms},
		{op: "deleteBinding", a: 582, b: 324, c: 838, wait: 1537 * ms}, {op: "lag", a: 89, b: 19, c: 22, wait: 1411 * ms},
		{op: "createPod", a: 19, b: 16, c: 502, wait: 1937 * ms},
		{op: "createBinding", a: 44, b: 588, c: 651, wait: 2370 * ms}, {op: "lag", a: 743, b: 645, c: 689, wait: 2386 * ms},
		{op: "createBinding", a: 45, b: 887, c: 825, wait: 1068 * ms},
		{op: "selectVersion", a: 960, b: 43, c: 637, wait: 2575 * ms},
		{op: "deletePod", a: 552, b: 190, c: 542, wait: 153 * ms},
		{op: "createBinding", a: 918, b: 561, c: 433, wait: 2366 * ms},
		{op: "createPod", a: 35, b: 211, c: 742, wait: 1509 * ms},
	},
	"a node is back while its deregistration was not answered": {
		{op: "createBinding", a: 826, b: 762, c: 646, wait: 196 * ms}, {op: "createService", a: 764, b: 466, c: 742, wait: 2458 * ms},
		{op: "endPod", a: 186, b: 816, c: 167, wait: 2357 * ms}, {op: "createPod", a: 448, b: 714, c: 774, wait: 2343 * ms},
		{op: "aws", a: 955, b: 207, c: 395, wait: 1407 * ms}, {op: "endNode", a: 109, b: 134, c: 555, wait: 572 * ms},
		{op: "nodeUp", a: 801, b: 291, c: 872, wait: 630 * ms},
	},
	"an address is another pod's when its target group's ARN is refused": {
		{op: "createService", a: 756, b: 147, c: 323}, {op: "createSleeper", a: 627, b: 744, c: 259, wait: 886 * ms},
		{op: "createSleeper", a: 214, b: 377, c: 863, wait: 62 * ms}, {op: "removePod", a: 660, b: 715, c: 18, wait: 1586 * ms},
		{op: "createPod", a: 564, b: 388, c: 592, wait: 2725 * ms}, {op: "replacePod", a: 372, b: 173, c: 153, wait: 1518 * ms},
		{op: "wait", a: 234, b: 35, c: 658, wait: 834 * ms}, {op: "createBinding", a: 168, b: 233, c: 667, wait: 929 * ms},
		{op: "createPod", a: 57, b: 165, c: 311, wait: 35 * ms}, {op: "createPod", a: 295, b: 284, c: 817, wait: 1928 * ms},
		{op: "createSleeper", a: 896, b: 972, c: 363, wait: 961 * ms}, {op: "createPod", a: 875, b: 901, c: 759, wait: 624 * ms},
		{op: "createSleeper", a: 857, b: 491, c: 410, wait: 1767 * ms}, {op: "group", a: 904, b: 445, c: 553, wait: 1110 * ms},
		{op: "replacePod", a: 123, b: 183, c: 9, wait: 1014 * ms}, {op: "removePod", a: 439, b: 172, c: 815, wait: 2403 * ms},
		{op: "deletePod", a: 329, b: 403, c: 246, wait: 889 * ms}, {op: "wait", a: 29},
		{op: "createPod", a: 474, b: 331, c: 476, wait: 1625 * ms},
	},
	"a pod that no slice lists has a target of nobody's": {
		{op: "createBinding", a: 86, b: 904, c: 293, wait: 1677 * ms}, {op: "createService", a: 503, b: 585, c: 907, wait: 2628 * ms},
		{op: "writes", a: 20, b: 221, c: 138, wait: 780 * ms}, {op: "createSleeper", a: 818, b: 751, c: 652, wait: 2609 * ms},
		{op: "nameNoPort", a: 596, b: 584, c: 838, wait: 67 * ms}, {op: "restart", a: 668, b: 858, c: 862, wait: 1044 * ms},
	},
	"a pod whose registration was refused is not selected any more": {
		{op: "createService", a: 429, b: 949, c: 560}, {op: "group", a: 992, b: 673, c: 817, wait: 113 * ms},
		{op: "createBinding", a: 984, b: 404, c: 969, wait: 516 * ms}, {op: "noticeNode", a: 174, b: 129, c: 450, wait: 855 * ms},
		{op: "createPod", a: 144, b: 4, c: 436, wait: 233 * ms}, {op: "lag", a: 56, b: 388, c: 153, wait: 1820 * ms},
		{op: "selectVersion", a: 558, b: 785, c: 445, wait: 449 * ms},
	},
	"the first reading leaves a target out whose pod has gone meanwhile": {
		{op: "createService", a: 0, b: 1}, {op: "createBinding", a: 0, b: 0}, {op: "createPod", a: 0, b: 0, c: 0, wait: 30000 * ms},
		{op: "aws", a: 3, b: 6, c: 1}, {op: "removePod", a: 0}, {op: "restart", a: 1, wait: 1000 * ms},
	},
	"a restart before the first status, and a pod that has gone meanwhile": {
		{op: "createService", a: 0, b: 1}, {op: "writes", a: 1, b: 0, c: 89}, {op: "createBinding", a: 0, b: 0},
		{op: "createPod", a: 0, b: 0, c: 0, wait: 30000 * ms}, {op: "removePod", a: 0}, {op: "restart", a: 1, wait: 1000 * ms},
	},
	"a node is down while readings leave its target out": {
		{op: "createBinding", a: 206, b: 10, c: 705, wait: 2821 * ms}, {op: "nodeDown", a: 551, b: 397, c: 444, wait: 918 * ms},
		{op: "wait", a: 115, b: 524, c: 247, wait: 486 * ms}, {op: "createService", a: 89, b: 266, c: 46, wait: 192 * ms},
		{op: "writes", a: 251, b: 96, c: 518, wait: 2786 * ms}, {op: "nodeUp", a: 262, b: 431, c: 801, wait: 2249 * ms},
		{op: "aws", a: 920, b: 538, c: 517, wait: 705 * ms}, {op: "wait", a: 29},
	},
}
