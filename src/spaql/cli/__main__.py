from spaql_command import main

main()
