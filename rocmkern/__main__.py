"""`python -m rocmkern` is the `rocmkern` command."""

from rocmkern.cli import main

main()
