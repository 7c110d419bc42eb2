//go:build cloud

package kafka

import (
	"context"

	"github.com/aws/aws-msk-iam-sasl-signer-go/signer"
)

// MSK is the mechanism with which Amazon MSK takes IAM's users and roles: OAUTHBEARER with a token that is signed here. The
// credentials are those of AWS's default chain. Without the build tag cloud it gives an error.
func MSK(region string) (SASLMechanism, error) {
	return OAuthBearer(func(ctx context.Context) (string, error) {
		token, _, err := signer.GenerateAuthToken(ctx, region)
		return token, err
	}), nil
}
