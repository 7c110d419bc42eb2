// Package services gets, starts, waits for and ends the real services that tests and people use floe with, on a machine
// without containers:
//
//	s := services.New(dir, os.Stderr)
//	defer s.Stop()
//	k, err := s.Kafka(ctx)
//	// k.Plain is host:port of a broker that is ready
//
// The command test/services does the same from a shell. Everything comes from package registries in pinned versions (Versions)
// and is kept in CacheDir, outside the repository. Each method starts its service once, waits until it is ready and gives its
// address, always on 127.0.0.1 and a port that was free; data and logs lie in the folder of New. Stop ends what was started, by
// process id; on Linux the kernel does it where this process is itself killed.
//
// What must be there: Go, Python 3 with venv, Java 17 with Maven (Kafka, the REST catalog, Hive), Node with npm (Azurite). Postgres
// is installed by apt-get where it is missing and the user is root.
package services
