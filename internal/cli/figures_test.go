// Sizes, counts and numbers for people.

package cli
