// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"context"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/targetgate/targetgate/e2e/emulator/wire"
)

func TestRunServesUntilItIsStopped(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	reader, writer := io.Pipe()
	done := make(chan error, 1)
	go func() {
		done <- run(ctx, []string{"emulator", "--listen", "127.0.0.1:0"}, writer)
		writer.Close()
	}()
	lines := bufio.NewScanner(reader)
	endpoint := ""
	for lines.Scan() && lines.Text() != "Ready." {
		if strings.HasPrefix(lines.Text(), "AWS endpoint: http://127.0.0.1:") {
			endpoint = lines.Text()
		}
	}
	if endpoint == "" {
		t.Error("the endpoint was not printed")
	}
	cancel()
	if err := <-done; err != nil {
		t.Errorf("run ended with %v", err)
	}
}

func TestRunTakesHelpForSuccess(t *testing.T) {
	if err := run(t.Context(), []string{"emulator", "--help"}, io.Discard); err != nil {
		t.Errorf("run ended with %v", err)
	}
}

func TestBuildReadsFlags(t *testing.T) {
	o := options{scale: 1, describe: "1/2", register: "0/0", modify: "3/0.5", other: "5/6", roles: []string{"arn:a", "arn:b,secret"}}
	got, err := o.build()
	if err != nil {
		t.Fatal(err)
	}
	wantLimits := wire.DefaultLimits()
	wantLimits.Describe, wantLimits.Register = wire.Limit{Capacity: 1, Refill: 2}, wire.Limit{}
	wantLimits.Modify = wire.Limit{Capacity: 3, Refill: 0.5}
	wantLimits.Other = wire.Limit{Capacity: 5, Refill: 6}
	if diff := cmp.Diff(&wantLimits, got.Wire.Limits); diff != "" {
		t.Errorf("limits (-want +got):\n%s", diff)
	}
	wantRoles := []wire.Role{{ARN: "arn:a"}, {ARN: "arn:b", ExternalID: "secret"}}
	if diff := cmp.Diff(wantRoles, got.Wire.Roles); diff != "" {
		t.Errorf("roles (-want +got):\n%s", diff)
	}
}

func TestBuildRefuses(t *testing.T) {
	for name, o := range map[string]options{
		"scale":    {describe: "1/1", register: "1/1", modify: "1/1"},
		"no slash": {scale: 1, describe: "5", register: "1/1", modify: "1/1"},
		"capacity": {scale: 1, describe: "a/1", register: "1/1", modify: "1/1"},
		"refill":   {scale: 1, describe: "1/a", register: "1/1", modify: "1/1"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := o.build(); err == nil {
				t.Error("accepted")
			}
		})
	}
}
