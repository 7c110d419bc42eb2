package main

import (
	"io"
	"log/slog"

	"github.com/stormfloe/floe/internal/config"
)

// newLogger makes the log that the configuration asks for. Secrets that a library puts into an error are taken out.
func newLogger(cfg *config.Config, w io.Writer) *slog.Logger {
	var level slog.Level
	if err := level.UnmarshalText([]byte(cfg.Log.Level)); err != nil {
		level = slog.LevelInfo // the configuration was validated: debug, info, warn and error are known
	}
	opts := &slog.HandlerOptions{Level: level, ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		switch v := a.Value.Any().(type) {
		case string:
			a.Value = slog.StringValue(cfg.Redact(v))
		case error:
			a.Value = slog.StringValue(cfg.Redact(v.Error()))
		}
		return a
	}}
	var h slog.Handler = slog.NewTextHandler(w, opts)
	if cfg.Log.Format == "json" {
		h = slog.NewJSONHandler(w, opts)
	}
	return slog.New(h)
}

// redactor takes secrets out of an error on its way to the user; errors.As still sees what is beneath.
type redactor struct {
	text string
	err  error
}

func (e *redactor) Error() string { return e.text }
func (e *redactor) Unwrap() error { return e.err }

func redacted(cfg *config.Config, err error) error {
	if err == nil {
		return nil
	}
	if text := cfg.Redact(err.Error()); text != err.Error() {
		return &redactor{text, err}
	}
	return err
}
