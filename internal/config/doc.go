// Package config reads the YAML that `floe run` is given into typed values, strictly.
//
// Nothing is guessed: an unknown key, a key written twice, a value of the wrong type, a size or a duration without a
// unit, a variable that is not set are errors, and each names the file, the line and the key, and says what to write
// instead. All errors of a file are reported at once.
//
//	cfg, err := config.Load("floe.yaml", os.LookupEnv)
//
// Scalar values may bring in secrets: ${VAR} is the environment variable VAR, ${file:/path} the content of a file
// (without its last newline; a relative path starts at the folder of the configuration), and $$ is a dollar sign.
// Values that came in this way never appear in an error of this package. Those of type Secret, and the catalog's, never
// appear in the output of fmt or in JSON either, and Config.Redact removes them from texts that come from elsewhere.
package config
