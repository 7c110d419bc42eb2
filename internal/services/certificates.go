package services

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"
)

// Certificates are the paths of files in PEM form, good for a day: an authority, and a client's certificate and key.
type Certificates struct {
	CA, ClientCert, ClientKey string
	// server holds the broker's key and certificate.
	server string
}

func makeCertificates(dir string) (Certificates, error) {
	c := Certificates{filepath.Join(dir, "ca.pem"), filepath.Join(dir, "client.pem"), filepath.Join(dir, "client.key"), filepath.Join(dir, "server.pem")}
	ca, caKey, err := certificate(nil, nil, &x509.Certificate{Subject: pkix.Name{CommonName: "floe test authority"}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageCertSign})
	if err != nil {
		return c, err
	}
	server, serverKey, err := certificate(ca, caKey, &x509.Certificate{Subject: pkix.Name{CommonName: "broker"}, DNSNames: []string{"localhost"},
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}})
	if err != nil {
		return c, err
	}
	client, clientKey, err := certificate(ca, caKey, &x509.Certificate{Subject: pkix.Name{CommonName: User}, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}})
	if err != nil {
		return c, err
	}
	caPEM := certPEM(ca)
	key, err := keyPEM(serverKey)
	key2, err2 := keyPEM(clientKey)
	return c, errors.Join(err, err2,
		os.WriteFile(c.CA, caPEM, 0o644),
		os.WriteFile(c.server, append(key, certPEM(server)...), 0o600),
		os.WriteFile(c.ClientCert, certPEM(client), 0o644),
		os.WriteFile(c.ClientKey, key2, 0o600))
}

// certificate signs a certificate; without a parent it signs itself.
func certificate(parent *x509.Certificate, parentKey *ecdsa.PrivateKey, c *x509.Certificate) (*x509.Certificate, *ecdsa.PrivateKey, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	if parent == nil {
		parent, parentKey = c, key
	} else {
		c.KeyUsage = x509.KeyUsageDigitalSignature
	}
	if c.SerialNumber, err = rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 64)); err != nil {
		return nil, nil, err
	}
	c.NotBefore, c.NotAfter = time.Now().Add(-time.Hour), time.Now().Add(24*time.Hour)
	der, err := x509.CreateCertificate(rand.Reader, c, parent, key.Public(), parentKey)
	if err != nil {
		return nil, nil, err
	}
	made, err := x509.ParseCertificate(der)
	return made, key, err
}

func certPEM(c *x509.Certificate) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.Raw})
}

func keyPEM(k *ecdsa.PrivateKey) ([]byte, error) {
	der, err := x509.MarshalPKCS8PrivateKey(k)
	return pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), err
}
