// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package run

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/go-logr/logr"
	"k8s.io/klog/v2"
	"sigs.k8s.io/controller-runtime/pkg/log"
)

// Main runs a command with the arguments of the program. An interrupt ends its context. After an error the program ends with
// exit status 1; to be asked for help is none.
func Main(name string, command func(ctx context.Context, args []string) error) {
	log.SetLogger(logr.Discard())
	klog.SetLogger(logr.Discard()) // clients complain when a bed ends
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	err := command(ctx, os.Args[1:])
	if err == nil || errors.Is(err, flag.ErrHelp) {
		return
	}
	if ctx.Err() != nil {
		err = errors.New("interrupted; nothing is left running")
	}
	stop()
	fmt.Fprintln(os.Stderr, name+":", err)
	os.Exit(1)
}
