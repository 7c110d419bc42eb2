package services

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Kafka is one broker with a listener for each kind of security, all of them host:port.
type Kafka struct {
	// Plain wants nothing. SASL wants PLAIN or SCRAM with User and Password. OAuth wants OAUTHBEARER; it takes unsigned tokens, such
	// as Gate's. TLS shows the certificate of Certificates. MTLS wants its client certificate, too.
	Plain, SASL, OAuth, TLS, MTLS string
	Certificates                  Certificates
}

// User is taken by SASL with Password.
const User = "app"

// Password of User.
const Password = "floe-secret"

const clusterID = "MkU3OEVBNTcwNTJENDM2Qk"

const nodeProperties = `process.roles=broker,controller
node.id=%[1]d
controller.quorum.voters=%[2]s
listeners=%[3]s,CONTROLLER://127.0.0.1:%[4]d
advertised.listeners=%[3]s
controller.listener.names=CONTROLLER
inter.broker.listener.name=PLAINTEXT
log.dirs=%[5]s
default.replication.factor=%[6]d
min.insync.replicas=%[7]d
offsets.topic.replication.factor=%[6]d
offsets.topic.num.partitions=1
transaction.state.log.replication.factor=%[6]d
transaction.state.log.min.isr=%[7]d
transaction.state.log.num.partitions=1
share.coordinator.state.topic.replication.factor=%[6]d
share.coordinator.state.topic.min.isr=%[7]d
group.initial.rebalance.delay.ms=0
group.min.session.timeout.ms=500
broker.session.timeout.ms=6000
`

const protocolMap = "listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,SASL:SASL_PLAINTEXT,OAUTH:SASL_PLAINTEXT,TLS:SSL,MTLS:SSL\n"

const secureProperties = `listener.name.sasl.sasl.enabled.mechanisms=PLAIN,SCRAM-SHA-256,SCRAM-SHA-512
listener.name.sasl.plain.sasl.jaas.config=org.apache.kafka.common.security.plain.PlainLoginModule required user_%[1]s="%[2]s";
listener.name.sasl.scram-sha-256.sasl.jaas.config=org.apache.kafka.common.security.scram.ScramLoginModule required;
listener.name.sasl.scram-sha-512.sasl.jaas.config=org.apache.kafka.common.security.scram.ScramLoginModule required;
listener.name.oauth.sasl.enabled.mechanisms=OAUTHBEARER
listener.name.oauth.oauthbearer.sasl.jaas.config=org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule required unsecuredLoginStringClaim_sub="broker";
ssl.keystore.type=PEM
ssl.keystore.location=%[3]s
ssl.truststore.type=PEM
ssl.truststore.location=%[4]s
listener.name.mtls.ssl.client.auth=required
`

// Kafka starts one broker.
func (s *Services) Kafka(ctx context.Context) (*Kafka, error) {
	if s.kafka != nil {
		return s.kafka, nil
	}
	dir := filepath.Join(s.dir, "kafka")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	k := &Kafka{}
	var err error
	if k.Certificates, err = makeCertificates(dir); err != nil {
		return nil, err
	}
	var listeners []string
	for _, l := range []struct {
		name string
		addr *string
	}{{"PLAINTEXT", &k.Plain}, {"SASL", &k.SASL}, {"OAUTH", &k.OAuth}, {"TLS", &k.TLS}, {"MTLS", &k.MTLS}} {
		port, err := freePort()
		if err != nil {
			return nil, err
		}
		*l.addr = fmt.Sprintf("127.0.0.1:%d", port)
		listeners = append(listeners, l.name+"://"+*l.addr)
	}
	control, err := freePort()
	if err != nil {
		return nil, err
	}
	text := fmt.Sprintf(nodeProperties, 1, fmt.Sprintf("1@127.0.0.1:%d", control), strings.Join(listeners, ","), control, filepath.Join(dir, "data"), 1, 1) +
		protocolMap + fmt.Sprintf(secureProperties, User, Password, k.Certificates.server, k.Certificates.CA)
	p, err := s.broker(ctx, "kafka", text)
	if err == nil {
		err = s.until(ctx, p, p.says("Kafka Server started"))
	}
	if err != nil {
		return nil, err
	}
	s.kafka = k
	return k, nil
}

// Cluster is three brokers.
type Cluster struct {
	// Brokers are host:port.
	Brokers []string
	nodes   []*process
}

// Cluster starts three brokers, each of which has a replica of everything.
func (s *Services) Cluster(ctx context.Context) (*Cluster, error) {
	const n = 3
	c := &Cluster{}
	var voters []string
	var control [n]int
	for i := range n {
		port, err := freePort()
		if err != nil {
			return nil, err
		}
		if control[i], err = freePort(); err != nil {
			return nil, err
		}
		c.Brokers = append(c.Brokers, fmt.Sprintf("127.0.0.1:%d", port))
		voters = append(voters, fmt.Sprintf("%d@127.0.0.1:%d", i+1, control[i]))
	}
	for i, addr := range c.Brokers {
		name := "kafka-" + strconv.Itoa(i+1)
		text := fmt.Sprintf(nodeProperties, i+1, strings.Join(voters, ","), "PLAINTEXT://"+addr, control[i],
			filepath.Join(s.dir, name, "data"), n, n-1) + protocolMap
		p, err := s.broker(ctx, name, text)
		if err != nil {
			return nil, err
		}
		c.nodes = append(c.nodes, p)
	}
	for _, p := range c.nodes {
		if err := s.until(ctx, p, p.says("Kafka Server started")); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// Kill ends one broker of the three with SIGKILL; the others go on.
func (c *Cluster) Kill(i int) error {
	err := c.nodes[i].cmd.Process.Kill()
	<-c.nodes[i].done
	return err
}

// Stop ends all three.
func (c *Cluster) Stop() {
	for _, p := range c.nodes {
		_ = p.cmd.Process.Kill() // nobody reads what they hold again
	}
	for _, p := range c.nodes {
		<-p.done
	}
}

// broker formats a node's folder and starts it.
func (s *Services) broker(ctx context.Context, name, properties string) (*process, error) {
	libs, err := jars(ctx, "kafka")
	if err != nil {
		return nil, err
	}
	dir := filepath.Join(s.dir, name)
	conf, logging := filepath.Join(dir, "server.properties"), filepath.Join(dir, "log4j2.properties")
	log4j, err := files.ReadFile("files/kafka-log4j2.properties")
	err = errors.Join(err, os.MkdirAll(dir, 0o755), os.WriteFile(conf, []byte(properties), 0o600), os.WriteFile(logging, log4j, 0o644))
	if err != nil {
		return nil, err
	}
	classes := libs + "/*"
	format := java(256, classes, "kafka.tools.StorageTool", nil, "format", "-t", clusterID, "-c", conf)
	for _, kind := range []string{"SCRAM-SHA-256", "SCRAM-SHA-512"} {
		format.Args = append(format.Args, "--add-scram", fmt.Sprintf("%s=[name=%s,password=%s]", kind, User, Password))
	}
	if err := tool(ctx, "", format.Path, format.Args[1:]...); err != nil {
		return nil, err
	}
	return s.launch(name, java(512, classes, "kafka.Kafka", []string{"-Dlog4j2.configurationFile=" + logging}, conf))
}
