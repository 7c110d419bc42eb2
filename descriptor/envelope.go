package descriptor

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// MaxBytes bounds what Decode and OpenEnvelope take: far above a descriptor of a million files.
const MaxBytes = 1 << 30

// What is wrong with bytes. Each is wrapped with the detail.
var (
	// ErrFormat: they are not what was expected at all, or cut off.
	ErrFormat = errors.New("not readable")
	// ErrVersion: they were written by a newer floe. They are whole; a newer floe reads them.
	ErrVersion = errors.New("written by a newer floe")
	// ErrChecksum: they were damaged after they were written.
	ErrChecksum = errors.New("checksum does not match")
	// ErrInvalid: they say something that can't be, such as a range that ends before it begins.
	ErrInvalid = errors.New("not valid")
)

// Damaged says that err means bytes that no floe will ever read: ErrFormat, ErrChecksum or ErrInvalid. What a newer floe
// wrote, what belongs to another table or to newer metadata, and what could not be fetched is not damaged.
func Damaged(err error) bool {
	return errors.Is(err, ErrFormat) || errors.Is(err, ErrChecksum) || errors.Is(err, ErrInvalid)
}

type envelope struct {
	Magic   string          `json:"floe"`
	Version int             `json:"version"`
	Sum     string          `json:"sha256"`
	Body    json.RawMessage `json:"body"`
}

// SealEnvelope puts body, which is JSON, under a name, a version and a checksum. A WAL entry uses the same envelope.
func SealEnvelope(name string, version int, body []byte) []byte {
	sum := sha256.Sum256(body)
	out := make([]byte, 0, len(body)+len(name)+128)
	out = fmt.Appendf(out, `{"floe":%q,"version":%d,"sha256":"%x","body":`, name, version, sum)
	out = append(out, body...)
	return append(out, '}')
}

// OpenEnvelope gives the body, whose checksum is right, and its version, which is between 1 and newest. The body is a part
// of b.
//
// Errors: ErrFormat, ErrVersion, ErrChecksum.
func OpenEnvelope(name string, newest int, b []byte) (version int, body []byte, err error) {
	if len(b) > MaxBytes {
		return 0, nil, fmt.Errorf("%s: %w: %d bytes are more than %d", name, ErrFormat, len(b), MaxBytes)
	}
	var e envelope
	if err := json.Unmarshal(b, &e); err != nil {
		return 0, nil, fmt.Errorf("%s: %w: %v", name, ErrFormat, syntax(err))
	}
	switch {
	case e.Magic != name:
		return 0, nil, fmt.Errorf("%s: %w: it does not say that it is one", name, ErrFormat)
	case e.Version < 1:
		return 0, nil, fmt.Errorf("%s: %w: it has no version", name, ErrFormat)
	case e.Version > newest:
		return 0, nil, fmt.Errorf("%s: %w: version %d, and this one knows %d; update floe", name, ErrVersion, e.Version, newest)
	}
	sum := sha256.Sum256(e.Body)
	if e.Sum != hex.EncodeToString(sum[:]) {
		return 0, nil, fmt.Errorf("%s: %w", name, ErrChecksum)
	}
	return e.Version, e.Body, nil
}

// DecodeStrict reads one JSON value into v and refuses what v has no place for.
func DecodeStrict(name string, body []byte, v any) error {
	dec := json.NewDecoder(bytes.NewReader(body))
	dec.DisallowUnknownFields()
	if err := dec.Decode(v); err != nil {
		return fmt.Errorf("%s: %w: %v", name, ErrFormat, syntax(err))
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return fmt.Errorf("%s: %w: something follows its end", name, ErrFormat)
	}
	return nil
}

// syntax says what is wrong without repeating what stands there.
func syntax(err error) string {
	var se *json.SyntaxError
	var te *json.UnmarshalTypeError
	switch {
	case errors.As(err, &se):
		return fmt.Sprintf("wrong JSON at byte %d", se.Offset)
	case errors.As(err, &te):
		return fmt.Sprintf("field %q has the wrong type", te.Field)
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return "it is cut off"
	}
	return "a field is not as it should be"
}

// EncodeBody writes v as compact JSON.
func EncodeBody(v any) ([]byte, error) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(buf.Bytes(), []byte("\n")), nil
}
