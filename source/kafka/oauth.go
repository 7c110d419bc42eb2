package kafka

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/segmentio/kafka-go/sasl"
)

// Token gives a bearer token that is good now. It is called for each connection, from any goroutine; ctx bounds the call. Its
// errors must not hold the token.
type Token func(ctx context.Context) (string, error)

// OAuthBearer is the mechanism OAUTHBEARER (RFC 7628, KIP-255). A broker that ends a connection when its token has expired is
// connected to again with another token.
func OAuthBearer(token Token) SASLMechanism { return bearer{token} }

type bearer struct{ token Token }

// Name is the mechanism's name on the wire.
func (b bearer) Name() string { return "OAUTHBEARER" }

// Start makes the client's first message.
func (b bearer) Start(ctx context.Context) (sasl.StateMachine, []byte, error) {
	token, err := b.token(ctx)
	if err != nil {
		return nil, nil, fmt.Errorf("get a token: %w", err)
	}
	if token == "" || strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return nil, nil, errors.New("the token is empty, or holds what no token may hold: it is printable ASCII without spaces")
	}
	return bearerSession{}, []byte("n,,\x01auth=Bearer " + token + "\x01\x01"), nil
}

type bearerSession struct{}

// Next ends the exchange. A broker that refuses the token says so with a challenge, and wants an answer before it sends its error.
func (bearerSession) Next(_ context.Context, challenge []byte) (done bool, answer []byte, err error) {
	if len(challenge) == 0 {
		return true, nil, nil
	}
	return false, []byte{1}, nil
}
