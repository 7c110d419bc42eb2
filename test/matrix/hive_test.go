package matrix

import (
	"net"
	"net/url"
	"strconv"
	"testing"

	"github.com/beltran/gohive"
	"github.com/beltran/gohive/hive_metastore"
)

// leaveLocks takes the locks of tables and never gives them back, as a process does that is killed in the middle of a commit. The
// metastore lets them go when their holder has been silent for its metastore.txn.timeout.
func leaveLocks(t *testing.T, uri string, tables ...string) {
	t.Helper()
	u, err := url.Parse(uri)
	if err != nil {
		t.Fatal(err)
	}
	host, text, err := net.SplitHostPort(u.Host)
	if err != nil {
		t.Fatal(err)
	}
	port, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(err)
	}
	config := gohive.NewMetastoreConnectConfiguration()
	config.TransportMode = "binary"
	client, err := gohive.ConnectToMetastore(host, port, "NOSASL", config)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	for _, name := range tables {
		_, err := client.Client.Lock(t.Context(), &hive_metastore.LockRequest{User: "killed", Hostname: host, Component: []*hive_metastore.LockComponent{
			{Type: hive_metastore.LockType_EXCLUSIVE, Level: hive_metastore.LockLevel_TABLE, Dbname: namespace, Tablename: &name},
		}})
		if err != nil {
			t.Fatal(err)
		}
	}
}
