// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package accounts

import (
	"context"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/credentials/endpointcreds"
)

// credentialsTimeout bounds one HTTP attempt to get the program's own credentials, of which the SDK makes three. It is short, as all
// calls wait for the answer.
const credentialsTimeout = 5 * time.Second

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
