// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/feature/ec2/imds"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/targetgate/targetgate/aws/accounts"
	"github.com/targetgate/targetgate/aws/ec2"
	"github.com/targetgate/targetgate/aws/elbv2"
)

// aws is the program's access to AWS.
type aws struct {
	accounts *accounts.Accounts
	clients  *elbv2.Clients
	ec2      *ec2.Client
	ownVPC   func(context.Context) (string, error)
}

// newAWS finds Region and credentials where the SDK finds them. It makes no call, except to the instance metadata service
// if no Region is set.
func newAWS(ctx context.Context, opts *options) (*aws, error) {
	var load []func(*config.LoadOptions) error
	if opts.Region != "" {
		load = append(load, config.WithRegion(opts.Region))
	} else {
		load = append(load, config.WithEC2IMDSRegion())
	}
	cfg, err := accounts.LoadConfig(ctx, load...)
	if err != nil {
		return nil, fmt.Errorf("loading AWS configuration (without instance metadata, set --aws-region or AWS_REGION): %w", err)
	}
	if cfg.Region == "" {
		return nil, errors.New("no AWS Region: set --aws-region or AWS_REGION")
	}
	all := accounts.New(cfg, accounts.Settings{
		Endpoints: opts.Endpoints, Throttle: opts.Throttle, MaxRetries: opts.MaxRetries, UserAgent: "targetgate/" + version,
		Sessions: opts.Sessions,
	})
	if err := metrics.Registry.Register(all); err != nil {
		return nil, fmt.Errorf("registering AWS budget metrics: %w", err)
	}
	return &aws{accounts: all, clients: elbv2.NewClients(all), ec2: ec2.NewClient(all), ownVPC: ownVPC(opts.VpcID, cfg)}, nil
}

// ownVPC returns the flag's value, or asks the instance metadata service each time: the VPC is rarely needed.
func ownVPC(id string, cfg awssdk.Config) func(context.Context) (string, error) {
	if id != "" {
		return func(context.Context) (string, error) { return id, nil }
	}
	metadata := imds.NewFromConfig(cfg)
	return func(ctx context.Context) (string, error) {
		mac, err := readMetadata(ctx, metadata, "mac")
		if err != nil {
			return "", err
		}
		return readMetadata(ctx, metadata, "network/interfaces/macs/"+mac+"/vpc-id")
	}
}

func readMetadata(ctx context.Context, metadata *imds.Client, path string) (string, error) {
	out, err := metadata.GetMetadata(ctx, &imds.GetMetadataInput{Path: path})
	if err != nil {
		return "", fmt.Errorf("reading instance metadata %s (without instance metadata, set --aws-vpc-id): %w", path, err)
	}
	defer out.Content.Close()
	body, err := io.ReadAll(out.Content)
	if err != nil {
		return "", fmt.Errorf("reading instance metadata %s: %w", path, err)
	}
	return string(body), nil
}
