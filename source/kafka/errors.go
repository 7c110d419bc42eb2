package kafka

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"

	kafkago "github.com/segmentio/kafka-go"

	"github.com/stormfloe/floe/source"
)

// This file decides what an error means.

// errClosed is what requests give after the source was closed.
var errClosed = errors.New("kafka: the source is closed")

// hopeless tells whether waiting will not mend err: a refusal that only another configuration or other rights end. It
// is asked while starting, and for the group; a running fetch loop goes on trying.
func hopeless(err error) bool {
	var fatal *source.FatalError
	if errors.As(err, &fatal) {
		return true
	}
	var code kafkago.Error
	if errors.As(err, &code) {
		switch code {
		case kafkago.TopicAuthorizationFailed, kafkago.GroupAuthorizationFailed, kafkago.ClusterAuthorizationFailed,
			kafkago.SASLAuthenticationFailed, kafkago.UnsupportedSASLMechanism, kafkago.IllegalSASLState,
			kafkago.InvalidTopic, kafkago.InvalidGroupId, kafkago.InvalidSessionTimeout,
			kafkago.InconsistentGroupProtocol, kafkago.UnsupportedVersion, kafkago.GroupMaxSizeReached:
			return true
		}
	}
	var cert *tls.CertificateVerificationError
	var record tls.RecordHeaderError
	return errors.As(err, &cert) || errors.As(err, &record)
}

// hint says what to do about err; empty where nothing is known.
func hint(err error) string {
	var code kafkago.Error
	if errors.As(err, &code) {
		switch code {
		case kafkago.TopicAuthorizationFailed:
			return "grant the user Read and Describe on the topic"
		case kafkago.GroupAuthorizationFailed:
			return "grant the user Read on the consumer group"
		case kafkago.ClusterAuthorizationFailed:
			return "grant the user Describe on the cluster"
		case kafkago.SASLAuthenticationFailed:
			return "check the SASL mechanism, the user and the password, or the token"
		case kafkago.UnsupportedSASLMechanism:
			return "choose a SASL mechanism that the broker has enabled"
		case kafkago.IllegalSASLState:
			return "the listener at this port may want SASL: check the port and the sasl settings"
		case kafkago.InvalidSessionTimeout:
			return "choose a session_timeout between the broker's group.min.session.timeout.ms and group.max.session.timeout.ms"
		case kafkago.InconsistentGroupProtocol:
			return "another kind of consumer uses this group: choose another group"
		case kafkago.UnsupportedVersion:
			return "Kafka 0.11 or later is needed"
		case kafkago.UnknownTopicOrPartition:
			return "check the topic's name, or create it"
		}
	}
	var cert *tls.CertificateVerificationError
	var record tls.RecordHeaderError
	switch {
	case errors.As(err, &cert):
		return "set tls.ca_file to the authority that signed the broker's certificate, and use a host name that it names"
	case errors.As(err, &record):
		return "the broker does not speak TLS at this port: check the port, or leave tls out"
	case err != nil && strings.Contains(err.Error(), "expecting TLS"):
		return "the broker speaks TLS at this port: check the port, or configure tls"
	case errors.Is(err, errSASLClosed):
		return "check the SASL mechanism, the user and the password, or the token"
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return "the broker closed the connection: it may want TLS or SASL at this port"
	}
	return ""
}

// explain wraps err with what was being done and what to do about it.
func explain(what string, err error) error {
	if err == nil {
		return nil
	}
	if h := hint(err); h != "" {
		return fmt.Errorf("kafka: %s: %w; %s", what, brief(err), h)
	}
	return fmt.Errorf("kafka: %s: %w", what, brief(err))
}

// brief shortens kafka-go's texts, which explain an error at length, to their titles.
func brief(err error) error {
	if code, ok := err.(kafkago.Error); ok { //nolint:errorlint // what wraps a code says more than its title
		return codeError{code}
	}
	return err
}

// codeError is a broker's error code with a short text.
type codeError struct{ code kafkago.Error }

func (e codeError) Error() string {
	if t := e.code.Title(); t != "" {
		return t
	}
	return "error code " + strconv.Itoa(int(e.code))
}
func (e codeError) Unwrap() error { return e.code }

// fatal marks err as one that waiting will not mend.
func fatal(err error) error {
	var f *source.FatalError
	if errors.As(err, &f) {
		return err
	}
	return &source.FatalError{Err: err}
}

// network tells whether the connection is to blame rather than the broker's answer.
func network(err error) bool {
	var code kafkago.Error
	return err != nil && !errors.As(err, &code) && !errors.Is(err, context.Canceled)
}

// closedHere tells whether err came of ending something on this side: a connection that was closed, a wait that was given up.
func closedHere(err error) bool {
	return errors.Is(err, net.ErrClosed) || errors.Is(err, io.ErrClosedPipe) || errors.Is(err, context.Canceled)
}

// movedOn tells whether a broker's answer says that the metadata is out of date.
func movedOn(code kafkago.Error) bool {
	switch code {
	case kafkago.UnknownTopicOrPartition, kafkago.LeaderNotAvailable, kafkago.NotLeaderForPartition,
		kafkago.ReplicaNotAvailable, kafkago.BrokerNotAvailable, kafkago.KafkaStorageError,
		kafkago.FencedLeaderEpoch, kafkago.UnknownLeaderEpoch, kafkago.UnknownTopicID,
		kafkago.InconsistentTopicID, kafkago.ListenerNotFound, kafkago.EligibleLeadersNotAvailable:
		return true
	}
	return false
}

// moving tells whether err passes by itself in a moment: a new leader, or a new coordinator. A topic that is unknown is
// not among them.
func moving(err error) bool {
	var code kafkago.Error
	if !errors.As(err, &code) || code == kafkago.UnknownTopicOrPartition {
		return false
	}
	switch code {
	case kafkago.OffsetNotAvailable, kafkago.GroupLoadInProgress, kafkago.GroupCoordinatorNotAvailable,
		kafkago.NotCoordinatorForGroup, kafkago.RequestTimedOut:
		return true
	}
	return movedOn(code)
}

func address(host string, port int32) string { return net.JoinHostPort(host, strconv.Itoa(int(port))) }
