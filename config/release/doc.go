// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Command release writes what a release of targetgate publishes into a folder: for each platform an archive of the binary
// and its SBOM, the chart, the manifests, and the checksums of all.
//
// One version is in all of them: that of the binary, of the chart and its appVersion, and of the image's tag. And they are
// reproducible: a commit, a version and a release of Go make the same bytes on every machine. For that nothing of the
// folder, the user or the clock may get into a file: paths are trimmed, files have the time of the commit
// (SOURCE_DATE_EPOCH, where there is no commit), and lists are in order. Go is that of config/image/Dockerfile, so that the
// image has the binary that is published beside it.
//
// The SBOM says what the linker has put into the binary, by the binary's own account (debug/buildinfo), and not what go.mod
// would have allowed.
package main
