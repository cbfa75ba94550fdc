package main

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/sglplan/sglplan/planner/units"
	"github.com/sglplan/sglplan/preflight"
)

func TestLaunch(t *testing.T) {
	ram, available := 449*units.GB, 445*units.GB
	opts := preflight.Options{GPUs: "8xRTX-PRO-6000-Blackwell", HostRAM: &ram, HostAvailable: &available, SGLang: "0.5.9"}
	command := "python3 -m sglang.launch_server --model-path moonshotai/Kimi-K2.5 --tp-size 8 --mem-fraction-static 0.86 --enable-hierarchical-cache --hicache-size "

	require.NoError(t, launch(context.Background(), strings.Fields(command+"48"), opts, true))
	require.NoError(t, launch(context.Background(), strings.Fields(command+"300"), opts, true), "the recommended size is taken instead")

	err := launch(context.Background(), strings.Fields(command+"48 --no-such-flag"), opts, true)
	var refused *refusedError
	require.True(t, errors.As(err, &refused), "%v", err)
	require.NotEmpty(t, refused.findings)
}
