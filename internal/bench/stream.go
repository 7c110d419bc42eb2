package bench

// Stream is a broker in a process of its own whose topic grows at a rate.
type Stream struct{ c *child }

// StartStream starts command, which must call Serve, with a job that has a rate.
func StartStream(command []string, j Job) (*Stream, error) {
	c, err := startChild(command, j, nil, func(int64) {})
	if err != nil {
		return nil, err
	}
	return &Stream{c}, nil
}

// Brokers is where the topic is.
func (s *Stream) Brokers() []string { return s.c.brokers }

// Registry is the URL of the schema registry, empty where the records need none.
func (s *Stream) Registry() string { return s.c.registry }

// Produced is how many records were produced so far. The stream's own failure is an error.
func (s *Stream) Produced() (int64, error) {
	n, _, err := s.c.ask()
	return n, err
}

// Close ends the broker.
func (s *Stream) Close() { s.c.stop() }
