package fault

// ErrSlowDown is how an object store throttles, in the words and with the status of S3.
var ErrSlowDown error = throttled{}

type throttled struct{}

func (throttled) Error() string {
	return "https response error StatusCode: 503, api error SlowDown: Please reduce your request rate."
}

// ErrorCode is the name of the error at S3.
func (throttled) ErrorCode() string { return "SlowDown" }

// HTTPStatusCode is 503.
func (throttled) HTTPStatusCode() int { return 503 }
