// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package accounts

import (
	"context"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/credentials/endpointcreds"
)

const (
	// credentialsTimeout bounds one HTTP attempt to get the program's own credentials, of which the SDK makes three. It is short, as all
	// calls wait for the answer.
	credentialsTimeout = 5 * time.Second
	// credentialsWait is how long a call waits for the program's own credentials: longer than all attempts take, so that their error is
	// told mostly.
	credentialsWait = 25 * time.Second
)

// LoadConfig finds Region and credentials where the SDK finds them. It makes no call, except to the instance metadata service if the
// options ask there for the Region. The SDK itself sets no time limit for credentials of EKS Pod Identity and of web identities: an answer
// that never came would keep all calls waiting for ever.
func LoadConfig(ctx context.Context, options ...func(*config.LoadOptions) error) (aws.Config, error) {
	return loadConfig(ctx, credentialsTimeout, options...)
}

func loadConfig(ctx context.Context, timeout time.Duration, options ...func(*config.LoadOptions) error) (aws.Config, error) {
	client := awshttp.NewBuildableClient().WithTimeout(timeout)
	return config.LoadDefaultConfig(ctx, append([]func(*config.LoadOptions) error{
		config.WithHTTPClient(client),
		config.WithEndpointCredentialOptions(func(o *endpointcreds.Options) { o.HTTPClient = client }), // it does not take the other one
	}, options...)...)
}

// bounded are the program's own credentials, for which nobody waits longer than credentialsWait. What gets them goes on for those who come
// next, as the SDK's cache does behind it. Those of assumed roles need no such bound: each attempt to assume one has its own, and waits for
// a token before that.
type bounded struct{ aws.CredentialsProvider }

// Retrieve implements aws.CredentialsProvider.
func (b bounded) Retrieve(ctx context.Context) (aws.Credentials, error) {
	waiting, cancel := context.WithTimeout(ctx, credentialsWait)
	defer cancel()
	credentials, err := b.CredentialsProvider.Retrieve(waiting)
	if err != nil && waiting.Err() != nil && ctx.Err() == nil {
		err = fmt.Errorf("no AWS credentials after %s: %w", credentialsWait, err)
	}
	return credentials, err
}
