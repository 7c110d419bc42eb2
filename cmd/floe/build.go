package main

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/stormfloe/floe/committer"
	"github.com/stormfloe/floe/internal/config"
	"github.com/stormfloe/floe/internal/tableio"
	"github.com/stormfloe/floe/internal/target"
	"github.com/stormfloe/floe/source"
	"github.com/stormfloe/floe/source/kafka"
	"github.com/stormfloe/floe/topology"
	"github.com/stormfloe/floe/wal"
)

// parts are what a configuration is built into. Nothing is started or reached for.
type parts struct {
	cfg    *config.Config
	log    *slog.Logger
	source source.Source
	table  *target.Table
	// rejects is where floe's commands look, also where on_bad_record is stop.
	rejects *rejectsTable
	format  *format
	// infer is nil where the table's columns are written down, or it must exist.
	infer *inference
}

func build(cfg *config.Config, log *slog.Logger) (*parts, error) {
	f, err := filteredFormat(cfg)
	if err != nil {
		return nil, &configError{cfg.File(), err}
	}
	infer := newInference(cfg, log)
	tbl, err := newTableOf(cfg, f, infer)
	if err != nil {
		return nil, &configError{cfg.File(), err}
	}
	kc, err := kafkaConfig(cfg, log)
	if err != nil {
		return nil, &configError{cfg.File(), err}
	}
	src, err := kafka.New(kc)
	if err != nil {
		return nil, &configError{cfg.File(), err}
	}
	rej, err := newRejectsTable(cfg)
	if err != nil {
		return nil, &configError{cfg.File(), err}
	}
	return &parts{cfg: cfg, log: log, source: src, table: tbl, rejects: rej, format: f, infer: infer}, nil
}

func newTable(cfg *config.Config) (*target.Table, error) {
	f, err := filteredFormat(cfg)
	if err != nil {
		return nil, err
	}
	return newTableOf(cfg, f, newInference(cfg, slog.New(slog.DiscardHandler)))
}

func newTableOf(cfg *config.Config, f *format, infer *inference) (*target.Table, error) {
	tc := target.Config{Catalog: cfg.Catalog.Properties, Table: cfg.Table.Name, GroupBy: cfg.Writer.GroupBy, Mapper: f.mapper}
	if c := cfg.Table.Create; c != nil {
		tc.Create = &target.Create{PartitionBy: c.PartitionBy, Properties: c.Properties}
		for _, col := range c.Schema {
			tc.Create.Columns = append(tc.Create.Columns, tableio.Column(col))
		}
		if infer != nil {
			tc.Create.Infer = infer.schema
		}
	}
	return target.New(tc)
}

// close closes the catalog.
func (p *parts) close() error { return errors.Join(p.table.Close(), p.rejects.Close()) }

// rejectsLoader is nil where a bad record stops the topology.
func (p *parts) rejectsLoader() committer.Loader {
	if p.cfg.Record.OnBadRecord != "reject" {
		return nil
	}
	return p.rejects
}

// topology makes the topology. reg may be nil.
func (p *parts) topology(untilCaughtUp bool, reg prometheus.Registerer) (*topology.Topology, error) {
	w, c, stop := p.cfg.Writer, p.cfg.Committer, p.cfg.Rejects.Stop
	t, err := topology.New(topology.Config{
		Name:        p.cfg.Name,
		Source:      p.source,
		Mapper:      p.format.mapper,
		Table:       p.table,
		Rejects:     p.rejectsLoader(),
		RejectLimit: topology.RejectLimit{Share: float64(stop.Share), Of: stop.Of, Rate: stop.Rate, Per: stop.Per},
		Writer: topology.WriterConfig{
			Tasks:        w.Tasks,
			GroupBy:      w.GroupBy,
			SealRecords:  w.Seal.Records,
			SealBytes:    int64(w.Seal.Bytes),
			SealInterval: orNone(w.Seal.Interval),
			MaxOpenFiles: w.MaxOpenFiles,
		},
		Committer: topology.CommitterConfig{
			Interval:     orNone(c.Interval),
			MaxDataFiles: c.MaxDataFiles,
			WALNamespace: c.WALNamespace,
			Branch:       c.Branch,
			ExpireEvery:  expireEvery(c.ExpireSnapshots),
		},
		Evolve:          evolutionOf(p.cfg.Table),
		Memory:          int64(p.cfg.Memory),
		StartupTimeout:  p.cfg.StartupTimeout,
		ShutdownTimeout: p.cfg.ShutdownTimeout,
		UntilCaughtUp:   untilCaughtUp,
		Logger:          p.log,
		Registerer:      reg,
	})
	if err != nil {
		return nil, &configError{p.cfg.File(), err}
	}
	return t, nil
}

// expireEvery is from how many appends one takes old snapshots off the table: few enough that the table stays small, and so many
// that what looking for them costs is nothing beside them.
func expireEvery(on bool) int {
	if on {
		return 16
	}
	return 0
}

// orNone turns the configuration's 0 into the library's negative: its zero stands for the default.
func orNone(d time.Duration) time.Duration {
	if d == 0 {
		return -1
	}
	return d
}

// committer makes the committer alone, for looking at positions and setting them.
func (p *parts) committer(table committer.Loader) (*committer.Committer, error) {
	return p.committerFor(table, p.rejectsLoader())
}

func (p *parts) committerFor(table, rejects committer.Loader) (*committer.Committer, error) {
	c, err := committer.New(committer.Config{
		Topology: p.cfg.Name,
		Branch:   p.cfg.Committer.Branch,
		Rejects:  rejects,
		Logger:   p.log,
	}, table, wal.New(p.cfg.Committer.WALNamespace, p.cfg.Name))
	if err != nil {
		return nil, &configError{p.cfg.File(), err}
	}
	return c, nil
}

// kafkaConfig turns source.kafka into the source's own configuration.
func kafkaConfig(cfg *config.Config, log *slog.Logger) (kafka.Config, error) {
	k := cfg.Source.Kafka
	out := kafka.Config{
		Brokers:             k.Brokers,
		Topics:              k.Topics,
		TopicPattern:        k.TopicPattern,
		Group:               k.Group,
		Start:               kafkaStart(k.Start),
		Isolation:           kafka.Isolation(k.Isolation),
		ClientID:            k.ClientID,
		Rack:                k.Rack,
		FetchMinBytes:       int(k.Fetch.MinBytes),
		FetchMaxBytes:       int(k.Fetch.MaxBytes),
		FetchMaxWait:        k.Fetch.MaxWait,
		PartitionMaxBytes:   int(k.Fetch.PartitionMaxBytes),
		MaxRecordBatchBytes: int(k.Fetch.MaxRecordBatchBytes),
		MaxBufferedBytes:    topology.MemoryShares(int64(cfg.Memory)).Prefetch,
		SessionTimeout:      k.SessionTimeout,
		RebalanceTimeout:    k.RebalanceTimeout,
		HeartbeatInterval:   k.HeartbeatInterval,
		DialTimeout:         k.DialTimeout,
		RequestTimeout:      k.RequestTimeout,
		MetadataInterval:    k.MetadataInterval,
		StartupTimeout:      cfg.StartupTimeout,
		Logger:              log,
	}
	var err error
	if out.SASL, err = saslMechanism(k.SASL); err != nil {
		return out, fmt.Errorf("source.kafka.sasl: %w", err)
	}
	if out.TLS, err = tlsConfig(k.TLS); err != nil {
		return out, fmt.Errorf("source.kafka.tls: %w", err)
	}
	return out, nil
}

func kafkaStart(s config.Start) kafka.Start {
	kinds := map[config.StartKind]kafka.StartKind{
		config.StartEarliest: kafka.StartEarliest, config.StartLatest: kafka.StartLatest, config.StartGroup: kafka.StartGroup,
		config.StartTime: kafka.StartTime, config.StartOffsets: kafka.StartOffsets,
	}
	out := kafka.Start{Kind: kinds[s.Kind], Time: s.Time}
	if s.Offsets != nil {
		out.Offsets = map[string]map[int32]source.Position{}
	}
	for topic, parts := range s.Offsets {
		out.Offsets[topic] = map[int32]source.Position{}
		for id, offset := range parts {
			out.Offsets[topic][id] = source.Position(offset)
		}
	}
	return out
}

func tlsConfig(t *config.TLS) (*tls.Config, error) {
	if t == nil {
		return nil, nil
	}
	out := &tls.Config{ServerName: t.ServerName, InsecureSkipVerify: t.InsecureSkipVerify, MinVersion: tls.VersionTLS12}
	if t.CAFile != "" {
		pem, err := os.ReadFile(t.CAFile)
		if err != nil {
			return nil, fmt.Errorf("ca_file: %w", err)
		}
		out.RootCAs = x509.NewCertPool()
		if !out.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("ca_file: %s holds no certificate in PEM form; write the path of one", t.CAFile)
		}
	}
	if t.CertFile != "" {
		cert, err := tls.LoadX509KeyPair(t.CertFile, t.KeyFile)
		if err != nil {
			return nil, fmt.Errorf("cert_file and key_file: %w; write a certificate and its key in PEM form", err)
		}
		out.Certificates = []tls.Certificate{cert}
	}
	return out, nil
}

// askTimeout bounds one question to a broker or catalog in commands that don't run a topology.
const askTimeout = 30 * time.Second
