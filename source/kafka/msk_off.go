//go:build !cloud

package kafka

import "errors"

// MSK is the mechanism with which Amazon MSK takes IAM's users and roles. This is the build without it.
func MSK(string) (SASLMechanism, error) {
	return nil, errors.New("kafka: this floe is built without AWS_MSK_IAM: build it with `go build -tags cloud ./cmd/floe`, or take a ready-made binary, which has it")
}
