// Package strict holds the manifests of the folder above to the Go types of
// Kubernetes and of LeaderWorkerSet: an unknown field, a field twice or a value
// of the wrong type fails.
package strict

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	lwsv1 "sigs.k8s.io/lws/api/leaderworkerset/v1"
	"sigs.k8s.io/yaml"
)

// types are the objects that the examples use.
var types = map[string]func() any{
	"apps/v1 Deployment":  func() any { return new(appsv1.Deployment) },
	"apps/v1 StatefulSet": func() any { return new(appsv1.StatefulSet) },
	"apps/v1 DaemonSet":   func() any { return new(appsv1.DaemonSet) },
	"batch/v1 Job":        func() any { return new(batchv1.Job) },
	"v1 Pod":              func() any { return new(corev1.Pod) },
	"v1 Service":          func() any { return new(corev1.Service) },
	"v1 ConfigMap":        func() any { return new(corev1.ConfigMap) },
	"leaderworkerset.x-k8s.io/v1 LeaderWorkerSet": func() any { return new(lwsv1.LeaderWorkerSet) },
}

func TestManifests(t *testing.T) {
	names, err := filepath.Glob("../*.yaml")
	require.NoError(t, err)
	require.GreaterOrEqual(t, len(names), 3)
	for _, name := range names {
		b, err := os.ReadFile(name)
		require.NoError(t, err)
		docs := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(b)))
		objects := 0
		for {
			doc, err := docs.Read()
			if errors.Is(err, io.EOF) {
				break
			}
			require.NoError(t, err, name)
			var head struct {
				APIVersion string `json:"apiVersion"`
				Kind       string `json:"kind"`
			}
			require.NoError(t, yaml.Unmarshal(doc, &head), name)
			if head.Kind == "" {
				continue // comments alone
			}
			object := types[head.APIVersion+" "+head.Kind]
			require.NotNil(t, object, "%s: %s %s has no type here", name, head.APIVersion, head.Kind)
			require.NoError(t, yaml.UnmarshalStrict(doc, object()), "%s: %s", name, head.Kind)
			objects++
		}
		require.Positive(t, objects, name)
	}
}
