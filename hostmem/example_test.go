package hostmem_test

import (
	"context"
	"fmt"

	"github.com/sglplan/sglplan/hostmem"
)

// What a launch from here can allocate, and which limit says so.
func ExampleFS_Host() {
	host, notes, err := hostmem.New("/").Host(context.Background())
	if err != nil {
		fmt.Println(err)
		return
	}
	if host.AvailableBytes != nil {
		fmt.Printf("%.1f GB by %s\n", host.AvailableBytes.GB(), host.Limit)
	}
	for _, n := range notes {
		fmt.Println("note:", n)
	}
}
