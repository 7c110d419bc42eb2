package config

import "net/url"

// SASL is source.kafka.sasl.
type SASL struct {
	// Mechanism is PLAIN, SCRAM-SHA-256, SCRAM-SHA-512, OAUTHBEARER or AWS_MSK_IAM.
	Mechanism string `yaml:"mechanism" required:"true" oneof:"PLAIN SCRAM-SHA-256 SCRAM-SHA-512 OAUTHBEARER AWS_MSK_IAM"`
	// Username and Password are those of PLAIN and SCRAM.
	Username string `yaml:"username"`
	Password Secret `yaml:"password"`
	// TokenFile holds OAUTHBEARER's token. It is read for each connection. A relative path starts at the configuration's folder.
	TokenFile string `yaml:"token_file"`
	// OAuth has OAUTHBEARER's tokens come from a server, one for each connection.
	OAuth *OAuth `yaml:"oauth"`
	// Region is AWS's, for AWS_MSK_IAM; who floe is, it finds out as all AWS clients do.
	Region string `yaml:"region"`
}

// OAuth is source.kafka.sasl.oauth: OAuth 2's client credentials.
type OAuth struct {
	// TokenURL is where tokens are asked for: http or https.
	TokenURL string `yaml:"token_url" required:"true"`
	// ClientID and ClientSecret are who floe is to the server.
	ClientID     string `yaml:"client_id" required:"true"`
	ClientSecret Secret `yaml:"client_secret" required:"true"`
	// Scope is asked for; several with spaces between them. Default none.
	Scope string `yaml:"scope"`
}

func (v *validator) sasl(s *SASL) {
	const key = "source.kafka.sasl"
	if s.Mechanism == "" {
		v.fail(key+".mechanism", "is missing; write %s", either(wordsOf(key+".mechanism")))
	} else {
		v.oneOf(key+".mechanism", s.Mechanism)
	}
	bearer, msk := s.Mechanism == "OAUTHBEARER", s.Mechanism == "AWS_MSK_IAM"
	if bearer || msk {
		v.check(s.Username == "", key+".username", "is not for %s; remove it", s.Mechanism)
		v.check(s.Password == "", key+".password", "is not for %s; remove it", s.Mechanism)
	} else {
		v.check(s.Username != "", key+".username", "is missing; write the user's name")
		v.check(s.Password != "", key+".password", `is missing or empty; write "${KAFKA_PASSWORD}" and set the variable`)
	}
	v.check(bearer || s.TokenFile == "", key+".token_file", "is for OAUTHBEARER; remove it")
	v.check(bearer || s.OAuth == nil, key+".oauth", "is for OAUTHBEARER; remove it")
	v.check(msk || s.Region == "", key+".region", "is for AWS_MSK_IAM; remove it")
	v.check(!msk || s.Region != "", key+".region", "is missing; write the AWS region of the brokers, such as eu-west-1")
	if bearer {
		v.check((s.TokenFile == "") != (s.OAuth == nil), key, "OAUTHBEARER takes its tokens from one place; write token_file or oauth")
		v.file(key+".token_file", s.TokenFile)
	}
	if o := s.OAuth; bearer && o != nil {
		u, err := url.Parse(o.TokenURL)
		v.check(err == nil && u.Host != "" && (u.Scheme == "http" || u.Scheme == "https"), key+".oauth.token_url",
			"is not an address; write the one of the server's token endpoint, such as https://login.example.com/oauth2/token")
		v.check(o.ClientID != "", key+".oauth.client_id", "is missing; write the id that the server knows floe by")
		v.check(o.ClientSecret != "", key+".oauth.client_secret", `is missing or empty; write "${CLIENT_SECRET}" and set the variable`)
	}
}
