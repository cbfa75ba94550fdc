package machine_test

import (
	"fmt"
	"os"
	"strings"

	"github.com/sglplan/sglplan/planner/machine"
	"github.com/sglplan/sglplan/planner/units"
)

// A host that is only planned: cards from the catalogue, memory from a data
// sheet.
func ExampleParseGPUs() {
	gpus, _, err := machine.ParseGPUs("8xRTX-PRO-6000-Blackwell")
	if err != nil {
		fmt.Println(err)
		return
	}
	ram, available := 449*units.GB, 445*units.GB
	m, _, err := machine.Apply(machine.Machine{GPUs: gpus}, machine.Overrides{HostRAM: &ram, HostAvailable: &available})
	if err != nil {
		fmt.Println(err)
		return
	}
	card := m.GPUs[0].Card()
	fmt.Println(len(m.GPUs), card.Name, card.TotalMiB, "MiB, SM", card.SM())
	fmt.Println("host", m.Host.AvailableBytes.GB(), "GB")
	// Output:
	// 8 NVIDIA RTX PRO 6000 Blackwell Server Edition 97887 MiB, SM 120
	// host 445 GB
}

// A name with a slip of the finger leads to the card that was meant.
func ExampleLookup() {
	_, err := machine.Lookup("RTX-PRO-600-Blackwell")
	fmt.Println(err)
	// Output:
	// unknown GPU "RTX-PRO-600-Blackwell": the nearest known name is RTX-PRO-6000-Blackwell; or write what nvidia-smi prints as the total, for example 8x97887MiB
}

// The JSON of another host; what it does not say stays unknown.
func ExampleRead() {
	m, notes, err := machine.Read(strings.NewReader(`{"gpus":[{"index":0,"total_bytes":150754820096}],"host":{"available_bytes":-1}}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, n := range notes {
		fmt.Println(n.Detail)
	}
	_ = m.Write(os.Stdout)
	// Output:
	// host.available_bytes is -1 bytes: negative; treated as unknown
	// {
	//   "schema": "sglplan/v1",
	//   "gpus": [
	//     {
	//       "index": 0,
	//       "total_bytes": 150754820096
	//     }
	//   ],
	//   "host": {}
	// }
}
