package machine

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sglplan/sglplan/planner/units"
)

func TestLeftovers(t *testing.T) {
	const gib = int64(units.GiB)
	yes, no := true, false
	gpu := func(used int64, holders ...Process) Machine {
		return Machine{GPUs: []GPU{{Index: 3, UsedBytes: size(used), ReservedBytes: size(1 << 29), Processes: holders}}}
	}
	live := Proc{PID: 42, Name: "sglang::schedul", State: "S"}
	dying := Proc{PID: 42, Name: "sglang::schedul", State: "D", Blocked: true}
	for _, c := range []struct {
		name string
		m    Machine
		r    Running
		want []string
	}{
		{"idle card", gpu(gib / 2), Running{}, nil},
		{"unknown use", Machine{GPUs: []GPU{{}}}, Running{}, nil},
		{"a live server", gpu(69*gib+gib/2, Process{PID: 42, Bytes: size(69 * gib)}), Running{Procs: []Proc{live}}, []string{
			"warning gpu-in-use: GPU 3: process 42 (a live SGLang server, sglang::schedul) holds 69.00 GiB",
		}},
		{"another program", gpu(5*gib, Process{PID: 42}), Running{Procs: []Proc{{PID: 42, Name: "python3", Command: "python3 train.py", State: "R"}}}, []string{
			"warning gpu-in-use: GPU 3: process 42 (python3) holds memory",
		}},
		{"a dying rank that NVML still lists", gpu(69*gib+gib/2, Process{PID: 42, Bytes: size(69 * gib)}), Running{Procs: []Proc{dying}}, []string{
			"warning rank-dying: process 42 (sglang::schedul) is in state D",
		}},
		{"memory being taken back", gpu(71*gib + gib/2), Running{Procs: []Proc{dying}}, []string{
			"warning gpu-memory-unexplained: GPU 3: 71.50 GiB used without a visible owner: being taken back from a dying SGLang process",
			"warning rank-dying: process 42 (sglang::schedul) is in state D",
		}},
		{"memory of nobody", gpu(71*gib + gib/2), Running{}, []string{
			"warning gpu-memory-unexplained: GPU 3: 71.50 GiB used without a visible owner: an ended run that is still being cleaned up, or a process of another container",
		}},
		{"more than the processes say", gpu(30*gib, Process{PID: 42, Bytes: size(20 * gib)}), Running{Procs: []Proc{live}}, []string{
			"warning gpu-in-use: GPU 3: process 42 (a live SGLang server, sglang::schedul) holds 20.00 GiB",
			"warning gpu-memory-unexplained: GPU 3: 10.00 GiB used without a visible owner: an ended run that is still being cleaned up, or a process of another container",
		}},
		{"a process of another namespace is no zombie", gpu(70*gib, Process{PID: 99999, Bytes: size(69 * gib)}), Running{}, []string{
			"warning gpu-memory-unexplained: GPU 3: 70.00 GiB used without a visible owner: held by something outside this container or not visible to this user",
		}},
		{"the first memory call counts the driver's reserve", Machine{GPUs: []GPU{{UsedBytes: size(gib + gib/2)}}}, Running{}, nil},
		{"a zombie with a thread that still holds everything", gpu(0), Running{Procs: []Proc{{PID: 7, Name: "sglang::schedul", State: "Z", Blocked: true}}}, []string{
			"warning rank-dying: process 7 (sglang::schedul) is in state Z but a thread of it is in state D: it still holds its memory",
		}},
		{"a zombie", gpu(0), Running{Procs: []Proc{{PID: 7, Parent: 1, Name: "sglang::detoken", State: "Z"}, {PID: 8, Name: "cat", State: "Z"}}}, []string{
			"warning rank-dying: process 7 (sglang::detoken) is in state Z and waits to be collected by process 1; it holds no memory",
		}},
		{"shared memory of nobody", gpu(0), Running{SHM: []SHMFile{
			{"psm_1", 600 << 20, &no}, {"psm_2", 600 << 20, &no}, {"nccl-x", 10 << 20, &yes}, {"torch_3", 5 << 30, nil},
		}}, []string{"warning shm-leftover: 2 files in /dev/shm that no process holds occupy 1.17 GiB: psm_1, psm_2"}},
		{"a few small files", gpu(0), Running{SHM: []SHMFile{{"a", 1, &no}, {"b", 1, &no}, {"c", 1, &no}, {"d", 1, &no}, {"e", 1, &no}, {"f", 1, &no}}}, []string{
			"info shm-leftover: 6 files in /dev/shm that no process holds occupy 6 B: a, b, c, d, e, ...",
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var got []string
			for _, f := range Leftovers(c.m, c.r) {
				got = append(got, strings.Join([]string{f.Severity.String(), string(f.Code) + ":", f.Detail}, " "))
				if f.Summary == "" || len(f.Figures) == 0 {
					t.Errorf("finding without summary or figures: %+v", f)
				}
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestCgroupRoom(t *testing.T) {
	for _, c := range []struct {
		name string
		in   Cgroup
		want *units.Bytes
	}{
		{"usage unknown", Cgroup{LimitBytes: 100}, nil},
		{"no cache known", Cgroup{LimitBytes: 100, UsageBytes: size(30)}, size(70)},
		{"clean cache goes", Cgroup{LimitBytes: 100, UsageBytes: size(90), CacheBytes: size(50), DirtyBytes: size(10)}, size(50)},
		{"more dirty than cache", Cgroup{LimitBytes: 100, UsageBytes: size(90), CacheBytes: size(5), DirtyBytes: size(10)}, size(10)},
		{"above the limit", Cgroup{LimitBytes: 100, UsageBytes: size(130)}, size(-30)},
	} {
		if diff := cmp.Diff(c.want, c.in.Room()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
}
