// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Command release writes the artifacts of a targetgate release into a folder: for each platform an archive with the binary and
// its SBOM, the chart, the manifests, and the checksums of all files.
//
// All artifacts have the same version: the binary, the chart and its appVersion, and the image's tag. They are reproducible: a
// commit, a version and a Go release produce the same bytes on every machine. So nothing about the folder, the user or the
// clock may get into a file: paths are trimmed, files have the time of the commit (or SOURCE_DATE_EPOCH, without a commit), and
// lists are sorted. The Go release is that of config/image/Dockerfile, so that the image contains the published binary.
//
//	main.go       the release as a whole: which artifacts, in which order
//	source.go     version and date, from git; the Go release
//	binary.go     compiles and checks a binary
//	bom.go        the SBOM
//	archive.go    archives and checksums
//	chart.go      packages the chart
//	manifests.go  the manifests for installations without Helm
//
// The SBOM lists what the linker put into the binary, as recorded in the binary itself (debug/buildinfo), not what go.mod
// would allow.
package main
