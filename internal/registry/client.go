package registry

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/url"
	"time"

	"github.com/twmb/franz-go/pkg/sr"

	"github.com/stormfloe/floe/internal/retry"
	"github.com/stormfloe/floe/mapper"
)

// Config of a Client.
type Config struct {
	// URL is where the registry is, http or https, with the path below which it answers. A user and a password in it stand
	// for Username and Password.
	URL string
	// Username and Password are for basic authentication; Token is a bearer's. One way or the other, or neither.
	Username, Password string
	Token              string
	// TLS is used for https. Nil: the system's certificates and none of one's own.
	TLS *tls.Config
	// Timeout bounds each request. Default 10s.
	Timeout time.Duration
}

const (
	defaultTimeout = 10 * time.Second
	// mostBytes bounds an answer.
	mostBytes = 32 << 20
	// tries is how often a request is made before its failure is told; firstPause is the wait after the first, and doubles.
	tries      = 3
	firstPause = 100 * time.Millisecond
	// secondLook is the wait before a reference that is missing is asked for again: an instance of the registry may be behind.
	secondLook = 5 * time.Second
	// mostReferences bounds the schemas that one refers to, directly or not.
	mostReferences = 1000
)

// Client asks a registry. Any number of goroutines may use it.
type Client struct {
	sr *sr.Client
	// name is the registry's URL for people: without what is secret.
	name       string
	secondLook time.Duration
}

// New makes a client. It reaches for nothing.
func New(cfg Config) (*Client, error) {
	u, err := url.Parse(cfg.URL)
	switch {
	case err != nil:
		return nil, errors.New("the URL of the registry can't be read; write it such as http://localhost:8081")
	case u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
		return nil, errors.New("the URL of the registry must begin with http:// or https:// and a host; write it such as http://localhost:8081")
	case u.RawQuery != "" || u.Fragment != "":
		return nil, errors.New("the URL of the registry has a query or a fragment; write it without them")
	}
	if u.User != nil {
		if cfg.Username != "" || cfg.Password != "" {
			return nil, errors.New("a user stands both in the URL of the registry and beside it; write it once")
		}
		cfg.Username = u.User.Username()
		cfg.Password, _ = u.User.Password()
		u.User = nil
	}
	if cfg.Token != "" && (cfg.Username != "" || cfg.Password != "") {
		return nil, errors.New("the registry has both a token and a user; write one of the two")
	}
	if cfg.Timeout == 0 {
		cfg.Timeout = defaultTimeout
	}
	tr := http.DefaultTransport.(*http.Transport).Clone()
	tr.TLSClientConfig = cfg.TLS
	tr.DisableKeepAlives = true // requests are rare: nothing is kept open between them
	c := &Client{name: u.String(), secondLook: secondLook}
	opts := []sr.ClientOpt{sr.URLs(c.name), sr.UserAgent("floe"), sr.HTTPClient(&http.Client{
		Transport: bounded{tr}, Timeout: cfg.Timeout,
		// Credentials must not follow to where an answer points.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	})}
	if cfg.Token != "" {
		opts = append(opts, sr.BearerToken(cfg.Token))
	}
	if cfg.Username != "" || cfg.Password != "" {
		opts = append(opts, sr.BasicAuth(cfg.Username, cfg.Password))
	}
	c.sr, err = sr.NewClient(opts...)
	return c, err
}

// bounded cuts answers that are too long off with an error.
type bounded struct{ *http.Transport }

func (b bounded) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := b.Transport.RoundTrip(req)
	if err == nil {
		resp.Body = &boundedBody{resp.Body, mostBytes}
	}
	return resp, err
}

type boundedBody struct {
	io.ReadCloser
	left int
}

func (b *boundedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if b.left -= n; b.left < 0 {
		return 0, fmt.Errorf("the answer has more than %d bytes", mostBytes)
	}
	return n, err
}

// String is the registry's URL, without a user.
func (c *Client) String() string { return c.name }

// Check asks the registry something that needs no schema: whether it answers, and takes the credentials.
func (c *Client) Check(ctx context.Context) error {
	err := c.try(ctx, func() error {
		_, err := c.sr.SupportedTypes(ctx)
		return err
	})
	var answer *answerError
	if !errors.As(err, &answer) || !answer.noRegistry() {
		return err
	}
	// Not every registry knows that question. This one it must answer, if only with no.
	if _, err = c.ResolveSchema(ctx, mapper.SchemaRef{ID: math.MaxInt32}); errors.Is(err, mapper.ErrNoSchema) {
		return nil
	}
	return err
}

// ResolveSchema implements mapper.SchemaResolver.
func (c *Client) ResolveSchema(ctx context.Context, ref mapper.SchemaRef) (mapper.AvroSchema, error) {
	got, err := c.schema(ctx, ref, sr.TypeAvro)
	if err != nil {
		return mapper.AvroSchema{}, err
	}
	return c.avro(ctx, got)
}

// avro is a schema with those that it refers to.
func (c *Client) avro(ctx context.Context, got sr.Schema) (mapper.AvroSchema, error) {
	r := references{c: c, seen: map[sr.SchemaReference]bool{}}
	if err := r.add(ctx, got.References); err != nil {
		return mapper.AvroSchema{}, err
	}
	return mapper.AvroSchema{Text: got.Schema, References: r.texts}, nil
}

// ResolveProto implements mapper.ProtoResolver.
func (c *Client) ResolveProto(ctx context.Context, ref mapper.SchemaRef) (mapper.ProtoSchema, error) {
	got, err := c.schema(ctx, ref, sr.TypeProtobuf)
	if err != nil {
		return mapper.ProtoSchema{}, err
	}
	return c.proto(ctx, got)
}

// proto is a schema with those that it imports.
func (c *Client) proto(ctx context.Context, got sr.Schema) (mapper.ProtoSchema, error) {
	r := references{c: c, seen: map[sr.SchemaReference]bool{}, byName: map[string]string{}}
	if err := r.add(ctx, got.References); err != nil {
		return mapper.ProtoSchema{}, err
	}
	return mapper.ProtoSchema{Text: got.Schema, Imports: r.byName}, nil
}

// ResolveJSONSchema implements mapper.JSONSchemaResolver.
func (c *Client) ResolveJSONSchema(ctx context.Context, ref mapper.SchemaRef) error {
	_, err := c.schema(ctx, ref, sr.TypeJSON)
	return err
}

// schema gets a schema, which must be of a type.
func (c *Client) schema(ctx context.Context, ref mapper.SchemaRef, want sr.SchemaType) (got sr.Schema, err error) {
	err = c.try(ctx, func() (err error) {
		if !ref.ByGUID() {
			got, err = c.sr.SchemaByID(ctx, int(ref.ID))
			return err
		}
		var found sr.SubjectSchema
		found, err = c.sr.SchemaByGUID(ctx, ref.String())
		got = found.Schema
		return err
	})
	var answer *answerError
	if ref.ByGUID() && errors.As(err, &answer) && answer.noRegistry() {
		err = c.noGUIDs(ctx, err)
	}
	return got, typed(err, got, want)
}

// noGUIDs is the error where nobody answers a question for a GUID. A registry that answers the one for an id, if only with its own
// no, lacks that question. It is no outage, but not believed at once either: while a registry is brought to another version, one
// instance may have it and the next one not.
func (c *Client) noGUIDs(ctx context.Context, err error) error {
	probe := c.try(ctx, func() error {
		_, err := c.sr.SchemaByID(ctx, math.MaxInt32)
		return err
	})
	if probe != nil && !isUnknown(probe) {
		return fmt.Errorf("it is named by its GUID, which not every registry can be asked for: %w", err)
	}
	return fmt.Errorf("%w: it is named by its GUID, and the registry at %s can't be asked for GUIDs: it has ids alone (/schemas/ids), and no /schemas/guids. "+
		"Let the producers name schemas by id (Confluent's PrefixSchemaIdSerializer), or use a registry that has both", mapper.ErrRefused, c.name)
}

// typed is the error of a question for a schema, which must be of a type.
func typed(err error, got sr.Schema, want sr.SchemaType) error {
	switch {
	case isUnknown(err):
		return fmt.Errorf("%w: %w", mapper.ErrNoSchema, err)
	case err == nil && got.Type != want:
		return fmt.Errorf("%w: the registry says that it is %s, and the records are %s", mapper.ErrWrongSchema, got.Type, want)
	}
	return err
}

// references gathers the schemas that one refers to, each behind those that it refers to itself.
type references struct {
	c     *Client
	seen  map[sr.SchemaReference]bool
	texts []string
	// byName has the texts by the names that they are referred to by, where those count: in Protobuf they are what is imported.
	byName map[string]string
}

func (r *references) add(ctx context.Context, refs []sr.SchemaReference) error {
	for _, ref := range refs {
		name := ref.Name
		if r.byName == nil {
			ref.Name = "" // the type that is meant; two may be in one schema
		}
		if r.seen[ref] {
			continue
		}
		if r.seen[ref] = true; len(r.seen) > mostReferences {
			return fmt.Errorf("%w: it refers to more than %d others", mapper.ErrWrongSchema, mostReferences)
		}
		got, err := r.c.reference(ctx, ref)
		if err != nil {
			return fmt.Errorf("version %d of the subject %s, which it refers to: %w", ref.Version, ref.Subject, err)
		}
		if err := r.add(ctx, got.References); err != nil {
			return err
		}
		r.texts = append(r.texts, got.Schema.Schema)
		if r.byName == nil {
			continue
		}
		if other, twice := r.byName[name]; twice && other != got.Schema.Schema {
			return fmt.Errorf("%w: two different files are imported as %s", mapper.ErrWrongSchema, name)
		}
		r.byName[name] = got.Schema.Schema
	}
	return nil
}

// reference gets what a schema refers to. One that is not there is looked for a second time before that is said.
func (c *Client) reference(ctx context.Context, ref sr.SchemaReference) (got sr.SubjectSchema, err error) {
	ask := func() error {
		return c.try(ctx, func() (err error) {
			// It may have been deleted softly since.
			got, err = c.sr.SchemaByVersion(sr.WithParams(ctx, sr.ShowDeleted), ref.Subject, ref.Version)
			return err
		})
	}
	if err = ask(); !isUnknown(err) {
		return got, err
	}
	if err := retry.Sleep(ctx, c.secondLook); err != nil {
		return got, err
	}
	if err = ask(); isUnknown(err) {
		err = fmt.Errorf("%w: %w", mapper.ErrNoReference, err)
	}
	return got, err
}

// try makes a request, again after a pause where that may help.
func (c *Client) try(ctx context.Context, ask func() error) error {
	for n := 1; ; n++ {
		err := ask()
		if err == nil {
			return nil
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		err = c.plain(err)
		if n == tries || !mayPass(err) || retry.Sleep(ctx, retry.Backoff(n-1, firstPause, time.Second)) != nil {
			return err
		}
	}
}
