package kafka

import (
	"fmt"

	"github.com/segmentio/kafka-go/sasl"
	"github.com/segmentio/kafka-go/sasl/plain"
	"github.com/segmentio/kafka-go/sasl/scram"
)

// SASLMechanism is what Config.SASL takes.
type SASLMechanism = sasl.Mechanism

// SASL makes the mechanism of the given name: PLAIN, SCRAM-SHA-256 or SCRAM-SHA-512. Its errors do not hold the
// password.
func SASL(name, user, password string) (SASLMechanism, error) {
	if user == "" || password == "" {
		return nil, fmt.Errorf("kafka: sasl needs a username and a password")
	}
	algorithm := scram.SHA256
	switch name {
	case "PLAIN":
		return plain.Mechanism{Username: user, Password: password}, nil
	case "SCRAM-SHA-256":
	case "SCRAM-SHA-512":
		algorithm = scram.SHA512
	default:
		return nil, fmt.Errorf("kafka: sasl.mechanism is %q; it is PLAIN, SCRAM-SHA-256 or SCRAM-SHA-512", name)
	}
	m, err := scram.Mechanism(algorithm, user, password)
	if err != nil {
		return nil, fmt.Errorf("kafka: the sasl username or password can't be used with %s: it has characters that SCRAM forbids", name)
	}
	return m, nil
}
